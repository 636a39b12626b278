-- SPDX-License-Identifier: GPL-2.0
--
-- The structures of kernel/fabric/wire.h and uapi/linux/bgdma.h, member by member: a
-- field is called bgdma.STRUCTURE.MEMBER, one of a frame's head bgdma.MEMBER.
-- tools/check/wireshark holds this file against these headers.

local NONE = 0xffffffff
local RUNS, HEARD, PEERS, ENDS, SACK, INLINE_MAX = 64, 32, 64, 8, 256, 24

-- ------------------------------------------------------------------------
-- Words

local TYPES = {"DATA", "ACK", "HELLO", "STATE", "CLOSE"}

local KINDS = {[0] = "piece", "abort", "answer", "event", "fetched", "gone"}

local OPS = {[0] = "nop", "memory FIFO", "local memory FIFO", "put",
	"local copy", "remote get", "atomic", "tree reduce", "tree broadcast",
	"tree allreduce", "tree point to point", "epoch begin", "epoch close",
	"epoch end"}

local function is_gate(op)
	return op >= 11 and op <= 13
end

local function is_tree(op)
	return op >= 7 and op <= 9
end

local TREE_KINDS = {[0] = "part", "differ", "broken", "left", "hello"}

local ATOMIC_OPS = {[0] = "read", "add", "mul", "min", "max", "and", "or", "xor",
	"swap", "cas"}
local ATOMIC_TYPES = {[0] = "s32", "u32", "s64", "u64"}

local CODES = {[0] = "OK", "INDEX", "OP", "UNSUPPORTED", "FLAGS", "FIELD",
	"LENGTH", "REGION", "COUNTER", "STALE", "BOUNDS", "RIGHTS", "NO_PEER",
	"PEER_DOWN", "FIFO", "RGET_FULL", "UNFILLED", "PROVENANCE", "UNDERFLOW",
	"CANCELLED", "ABORTED", "ALIGN", [32] = "EPOCH_HELD",
	[33] = "EPOCH_CLOSED", [34] = "EPOCH_COUNT", [35] = "EPOCH_BUSY",
	[36] = "GROUP", [37] = "TREE_MISMATCH", [38] = "LINK_DOWN",
	[39] = "TIMEOUT", [40] = "CLASS"}

local OBJECTS = {[0] = "context", "injection FIFO", "reception FIFO",
	"remote-get queue", "injection counter", "reception counter", "region",
	"events", "group", "class"}

local EVENTS = {"PEER_DOWN", "FIFO_ERROR", "COUNTER", "REFUSED", "OFFENDER",
	"PARTITION", "EPOCH", "CLASS"}

local function handle(value)
	if value == NONE then
		return "none"
	end
	return string.format("slot %d, generation %d", value % 65536,
		math.floor(value / 65536))
end

local function context(value)
	return value == 0xffff and "the kernel" or nil
end

-- bgdma_stream.tag
local function fifo(value)
	if value == NONE then
		return "the kernel's own"
	elseif value < 2 ^ 31 then
		return value < 2 ^ 30 and "injection FIFO" or
			string.format("class %d, edge %d",
				math.floor((value - 2 ^ 30) / 3), (value - 2 ^ 30) % 3)
	end
	return string.format("remote-get queue %d, sender %d",
		math.floor(value / 65536) - 32768, value % 65536)
end

local function incarnation(value)
	return value == 0 and "any" or nil
end

local function group(value)
	return value == 0 and "none" or string.format("group %d", value - 1)
end

local function transferred(value, packet)
	return KINDS[packet.kind] == "abort" and (CODES[value] or "no such code") or nil
end

local function dispatch(value, desc)
	if OPS[desc.op] ~= "atomic" then
		return nil
	end
	return string.format("%s %s",
		ATOMIC_OPS[math.floor(value / 256)] or "no such operation",
		ATOMIC_TYPES[value % 256] or "of no such type")
end

-- ------------------------------------------------------------------------
-- Structures

local fields = {}
local SIZES = {uint8 = 1, uint16 = 2, uint32 = 4, uint64 = 8}

local function add_field(field)
	fields[#fields + 1] = field
	return field
end

local function add_bits(name, size, bits)
	local found = {}
	for i, word in ipairs(bits) do
		found[i] = add_field(ProtoField.bool(name .. "." .. word, word,
			size * 8, nil, 2 ^ (i - 1)))
	end
	return found
end

-- Members in their order: {name, type, how}. How: base, strings of values, names of
-- bits from the lowest on, a note on a value, count of an array, size of bytes.
local function struct(prefix, members)
	local s = {size = 0}
	for i, member in ipairs(members) do
		local name, kind, how = member[1], member[2], member[3] or {}
		local full = prefix .. "." .. name
		local number = SIZES[kind]
		local m = {name = name, at = s.size, number = number,
			size = number or how.size, count = how.count or 1,
			note = how.note}
		m.field = add_field(number and
			ProtoField[kind](full, name, how.base or base.DEC,
				how.strings) or ProtoField[kind](full, name))
		m.bits = how.bits and add_bits(full, number, how.bits)
		s.size = s.size + m.size * m.count
		s[i], s[name] = m, m
	end
	return s
end

local HEX = {base = base.HEX}

local FRAME = struct("bgdma", {
	{"magic", "uint16", HEX}, {"version", "uint8"},
	{"type", "uint8", {strings = TYPES}}, {"partition", "uint32", HEX},
	{"crc", "uint32", HEX}, {"at", "uint32"}, {"hops", "uint8"},
	{"flags", "uint8", {base = base.HEX,
		bits = {"adaptive", "again", "unsummed", "patient"}}},
	{"head", "uint16"}, {"src_rank", "uint32"}, {"dst_rank", "uint32"},
	{"flow_inc", "uint32"}, {"flow_ctx", "uint16", {note = context}},
	{"packets", "uint8"}, {"more", "uint8"}, {"flow", "uint32", {note = fifo}},
	{"session", "uint32"}, {"psn", "uint32"}, {"first", "uint32"},
	{"stamp", "uint32"}, {"bytes", "uint32"}, {"sum", "uint32", HEX},
	{"kernel", "uint64", HEX},
})

local DESC = struct("bgdma.desc", {
	{"op", "uint8", {strings = OPS}},
	{"flags", "uint8", {base = base.HEX, bits = {"interrupt", "inline", "ops",
		"fence", "group", "hold", "fetch", "exclusive"}}},
	{"route", "uint8", {base = base.HEX, bits = {"xp", "xm", "yp", "ym", "zp",
		"zm", "adaptive", "deposit"}}},
	{"class_prio", "uint8", HEX}, {"dst_rank", "uint32"},
	{"dst_ctx", "uint16", {note = context}}, {"dst_fifo", "uint16"},
	{"inj_ctr", "uint32", {base = base.HEX, note = handle}},
	{"rec_ctr", "uint32", {base = base.HEX, note = handle}},
	{"epoch", "uint32"}, {"length", "uint32"},
	{"dispatch", "uint16", {base = base.HEX, note = dispatch}},
	{"resv", "uint16"},
})
local DESC_AT = struct("bgdma.desc", {
	{"src_region", "uint32", {base = base.HEX, note = handle}},
	{"dst_region", "uint32", {base = base.HEX, note = handle}},
	{"src_off", "uint64"}, {"dst_off", "uint64"},
})
local DESC_INLINE = struct("bgdma.desc", {
	{"inline_data", "bytes", {size = INLINE_MAX}}})
-- In place of both, on an edge of the combining network: kernel/engine/tree.h
local DESC_TREE = struct("bgdma.tree", {
	{"index", "uint32"}, {"offset", "uint32"}, {"total", "uint32"},
	{"rank", "uint32"}, {"ctx", "uint16", {note = context}},
	{"kind", "uint8", {strings = TREE_KINDS}},
	{"code", "uint8", {strings = CODES}}, {"resv", "uint32"},
})
local DESC_END = struct("bgdma.desc", {{"cookie", "uint64", HEX}})
local DESC_SIZE = DESC.size + DESC_AT.size + DESC_END.size

local PACKET = struct("bgdma.packet", {
	{"id", "uint32"}, {"offset", "uint32"},
	{"bytes", "uint32", {note = transferred}},
	{"dst_inc", "uint32", {note = incarnation}},
	{"kind", "uint8", {strings = KINDS}},
	{"flags", "uint8", {base = base.HEX, bits = {"remote", "own"}}},
	{"group", "uint16", {note = group}}, {"resv", "uint32"},
})

local ACK = struct("bgdma.ack", {
	{"sack", "bytes", {size = SACK / 8}}, {"window", "uint16"},
	{"state", "uint8", {strings = {[0] = "ready", "not ready"}}},
	{"kind", "uint8", {strings = OBJECTS}},
	{"object", "uint32", {base = base.HEX}},
})

local RESULT = struct("bgdma.result", {
	{"offset", "uint64"}, {"bound", "uint64"}, {"id", "uint32"},
	{"code", "uint32", {strings = CODES}}, {"psn", "uint32"},
	{"resv", "uint32"},
})

local ANSWER = struct("bgdma.answer", {
	{"counter", "uint32", {base = base.HEX, note = handle}},
	{"region", "uint32", {base = base.HEX, note = handle}},
	{"epoch", "uint32"}, {"code", "uint32", {strings = CODES}},
	{"rank", "uint32"}, {"incarnation", "uint32"}, {"ctx", "uint16"},
	{"resv", "uint16"},
})

local EVENT = struct("bgdma.event", {
	{"type", "uint32", {strings = EVENTS}},
	{"code", "uint32", {strings = CODES}}, {"peer_rank", "uint32"},
	{"peer_ctx", "uint16"}, {"kind", "uint16", {strings = OBJECTS}},
	{"peer_incarnation", "uint32"}, {"object", "uint32", HEX},
	{"desc_seq", "uint64"}, {"transfer_id", "uint64"},
	{"cookie", "uint64", HEX}, {"offset", "uint64"}, {"bound", "uint64"},
})

local GONE = struct("bgdma.gone", {
	{"rank", "uint32"}, {"incarnation", "uint32"}, {"uid", "uint32"},
	{"ctx", "uint16"}, {"resv", "uint16"},
})

-- Without the lists, which have room for RUNS, HEARD, PEERS and ENDS.
local HELLO = struct("bgdma.hello", {
	{"kernel", "uint64", HEX}, {"proof", "uint64", HEX},
	{"name", "stringz", {size = 32}}, {"dims", "uint32", {count = 3}},
	{"torus", "uint32", {base = base.HEX, bits = {"x", "y", "z"}}},
	{"mtu", "uint32"}, {"every", "uint32"}, {"runs", "uint32"},
	{"heard", "uint32"},
})
local STATE = struct("bgdma.state", {
	{"kernel", "uint64", HEX}, {"proof", "uint64", HEX}, {"seq", "uint32"},
	{"runs", "uint32"}, {"peers", "uint32"},
	{"flags", "uint32", {base = base.HEX, bits = {"bye"}}},
})
local RUN = struct("bgdma.run", {{"first", "uint32"}, {"last", "uint32"}})

local END = struct("bgdma.end", {
	{"kernel", "uint64", HEX}, {"lost", "uint32"}, {"known", "uint32"},
})

local HELLO_SIZE = HELLO.size + RUNS * RUN.size + HEARD * 8
local STATE_SIZE = STATE.size + RUNS * RUN.size + PEERS * 8 + ENDS * END.size

-- What payload is, by the kind of its packet.
local TELLS = {[2] = ANSWER, [3] = EVENT, [5] = GONE}

-- ------------------------------------------------------------------------
-- From bytes, which are there

local function number(raw, at, size)
	local value = 0
	for i = at + size, at + 1, -1 do
		value = value * 256 + raw:byte(i)
	end
	return value
end

-- The members that are numbers of at most 32 bits, and no arrays.
local function read(s, raw, at)
	local values = {}
	for _, m in ipairs(s) do
		if m.number and m.number <= 4 and m.count == 1 then
			values[m.name] = number(raw, at + m.at, m.number)
		end
	end
	return values
end

local function bit(value, i)
	return math.floor(value / 2 ^ i) % 2 == 1
end

return {
	MAGIC = 0x4742, VERSION = 1, NONE = NONE, RUNS = RUNS, HEARD = HEARD,
	PEERS = PEERS, ENDS = ENDS, SACK = SACK, RESULTS = 32, SPAN = 64, LENGTH_MAX = 2 ^ 30,
	INLINE_MAX = INLINE_MAX, PACKET_MAX = 4096, ATOMIC_MAX = 256,
	RGET_MAX = 16, DIM_MAX = 1024, NODES_MAX = 2 ^ 24, HELLO_MAX = 60000,
	MTU_MAX = 65535,
	TYPES = TYPES, KINDS = KINDS, OPS = OPS, ATOMIC_OPS = ATOMIC_OPS,
	ATOMIC_TYPES = ATOMIC_TYPES, CODES = CODES, OBJECTS = OBJECTS,
	EVENTS = EVENTS, dispatch = dispatch, is_gate = is_gate,
	is_tree = is_tree, TREE_KINDS = TREE_KINDS, DESC_TREE = DESC_TREE,
	FRAME = FRAME, DESC = DESC, DESC_AT = DESC_AT, DESC_INLINE = DESC_INLINE,
	DESC_END = DESC_END, DESC_SIZE = DESC_SIZE, PACKET = PACKET, ACK = ACK,
	RESULT = RESULT, TELLS = TELLS, HELLO = HELLO, HELLO_SIZE = HELLO_SIZE,
	STATE = STATE, STATE_SIZE = STATE_SIZE, RUN = RUN, END = END,
	fields = fields, number = number, read = read, bit = bit,
}
