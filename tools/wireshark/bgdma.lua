-- SPDX-License-Identifier: GPL-2.0
--
-- bgdma's frames in Wireshark and tshark: Documentation/capture.rst.
--
-- wire.lua has the structures, follow.lua what belongs together. Wireshark loads all
-- of a folder of plugins by itself, too; alone those two do nothing.
--
-- Nothing in a frame is trusted. What is malformed is told as an expert info, and
-- nothing is looked at that was not found to be there.

local bgdma = Proto("bgdma", "Blue Gene DMA messaging")

bgdma.prefs.ethertype = Pref.uint("Ethertype", 0x88b5,
	"The module's parameter ethertype, where that is another")
bgdma.prefs.checksums = Pref.bool("Verify checksums", true,
	"That of the head and that of the payload")

local wire, follow
do
	local here = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
	wire = assert(loadfile(here .. "wire.lua"))()
	follow = assert(loadfile(here .. "follow.lua"))(wire)
end
local number, read, bit = wire.number, wire.read, wire.bit
local FRAME, DESC, PACKET = wire.FRAME, wire.DESC, wire.PACKET
local DESC_SIZE, NONE = wire.DESC_SIZE, wire.NONE

local DATA, ACK, HELLO, STATE, CLOSE = 1, 2, 3, 4, 5
local PIECE, ABORT, ANSWER, EVENT, FETCHED = 0, 1, 2, 3, 4
local MEMFIFO, LOCAL_MEMFIFO, PUT, RGET, ATOMIC, TREE_P2P = 1, 2, 3, 5, 6, 10
local CAS = 9

-- Packets that are told in a frame's line of the list.
local LIST_MAX = 3

local own = {
	hears = ProtoField.uint64("bgdma.hello.hears", "hears", base.HEX),
	peer = ProtoField.uint64("bgdma.state.peer", "peer", base.HEX),
	sacked = ProtoField.uint32("bgdma.ack.psn", "has arrived, too"),
	payload = ProtoField.bytes("bgdma.payload", "payload"),
	crc_good = ProtoField.bool("bgdma.crc.good", "checksum of the head is right"),
	sum_good = ProtoField.bool("bgdma.sum.good",
		"checksum of the payload is right"),
	again_of = ProtoField.framenum("bgdma.again_of", "sent before in",
		base.NONE, frametype.RETRANS_PREV),
	copy_of = ProtoField.framenum("bgdma.copy_of", "the same on its way in"),
	acked_in = ProtoField.framenum("bgdma.acked_in", "acknowledged in",
		base.NONE, frametype.ACK),
	acks = ProtoField.framenum("bgdma.acks", "acknowledges all up to",
		base.NONE, frametype.ACK),
	refused = ProtoField.framenum("bgdma.result.frame", "refused in",
		base.NONE, frametype.ACK),
	asked_in = ProtoField.framenum("bgdma.asked_in",
		"a descriptor of the remote get in", base.NONE,
		frametype.REQUEST),
	executed_in = ProtoField.framenum("bgdma.executed_in", "is executed in",
		base.NONE, frametype.RESPONSE),
}
for _, field in pairs(own) do
	table.insert(wire.fields, field)
end
bgdma.fields = wire.fields

local malformed = ProtoExpert.new("bgdma.malformed", "malformed",
	expert.group.MALFORMED, expert.severity.ERROR)
local short = ProtoExpert.new("bgdma.short", "the capture has only part of it",
	expert.group.UNDECODED, expert.severity.NOTE)
local damaged = ProtoExpert.new("bgdma.damaged", "wrong checksum",
	expert.group.CHECKSUM, expert.severity.WARN)
local again = ProtoExpert.new("bgdma.again", "sent again",
	expert.group.SEQUENCE, expert.severity.NOTE)
local refused = ProtoExpert.new("bgdma.refused", "refused",
	expert.group.RESPONSE_CODE, expert.severity.WARN)
bgdma.experts = {malformed, short, damaged, again, refused}

local function show(s, frame, tree, at, values)
	for _, m in ipairs(s) do
		for i = 0, m.count - 1 do
			local range = frame.tvb(at + m.at + i * m.size, m.size)
			local item = m.number and tree:add_le(m.field, range) or
				tree:add(m.field, range)
			local note = m.note and m.note(values[m.name], values)
			if note then
				item:append_text(" (" .. note .. ")")
			end
			for _, field in ipairs(m.bits or {}) do
				item:add_le(field, range)
			end
		end
	end
end

local function complain(frame, tree, text)
	tree:add_proto_expert_info(malformed, text)
	frame.bad = frame.bad or text
end

-- Are so many bytes there? If not, it is told why.
local function there(frame, tree, at, size)
	if at + size <= #frame.raw then
		return true
	elseif at + size <= frame.len then
		tree:add_proto_expert_info(short)
		frame.short = true
	else
		complain(frame, tree, "the frame ends too early")
	end
	return false
end

-- ------------------------------------------------------------------------
-- Checksums

local bits = bit32 or require("bit")
local crc_table = {}
for i = 0, 255 do
	local crc = i
	for _ = 1, 8 do
		crc = bits.bxor(bits.rshift(crc, 1), crc % 2 * 0x82f63b78)
	end
	crc_table[i] = crc
end

local function crc32c(text)
	local crc = NONE
	for i = 1, #text do
		crc = bits.bxor(bits.rshift(crc, 8),
			crc_table[bits.band(bits.bxor(crc, text:byte(i)), 0xff)])
	end
	return bits.bxor(crc, NONE) % 2 ^ 32
end

-- Of the head, without what a hop changes, and without itself.
local function crc_of(raw, head)
	local zero = "\0\0\0\0"
	return crc32c(raw:sub(1, 8) .. zero .. zero .. "\0" .. raw:sub(18, head))
end

-- Of the payload: rows of eight words of 32 bits, columns added up once and twice.
local function sum_of(raw, at, size)
	local text = raw:sub(at + 1, at + size) .. ("\0"):rep(-size % 32)
	local once, twice = {}, {}
	for i = 1, 8 do
		once[i], twice[i] = 0, 0
	end
	for i = 1, #text, 4 do
		local a, b, c, d = text:byte(i, i + 3)
		local k = (i - 1) / 4 % 8 + 1
		once[k] = (once[k] + a + b * 2 ^ 8 + c * 2 ^ 16 + d * 2 ^ 24) % 2 ^ 32
		twice[k] = (twice[k] + once[k]) % 2 ^ 32
	end
	local out = {}
	for _, sums in ipairs({once, twice}) do
		for _, sum in ipairs(sums) do
			for shift = 0, 24, 8 do
				out[#out + 1] = string.char(math.floor(sum / 2 ^ shift) % 256)
			end
		end
	end
	return crc32c(table.concat(out))
end

local function verify(frame, tree, field, text, right, at)
	tree:add(field, frame.tvb(at, 4), right):set_generated()
	if not right then
		tree:add_proto_expert_info(damaged, text)
		frame.damaged = true
	end
end

local function link(tree, field, value)
	if value then
		tree:add(field, value):set_generated()
	end
end

-- ------------------------------------------------------------------------
-- Descriptors

local function place(d)
	return string.format(bit(d.flags, 4) and "%d group %d" or "%d.%d",
		d.dst_rank, d.dst_ctx)
end

-- In a few words: without how many bytes of it.
local function words(d)
	local text = wire.OPS[d.op] or "operation " .. d.op
	if d.op == RGET then
		text = string.format("%s of %d to queue %d of %s", text,
			d.length / DESC_SIZE, d.dst_fifo, place(d))
	elseif d.op == MEMFIFO or d.op == LOCAL_MEMFIFO then
		text = string.format("%s %d of %s, dispatch %d", text, d.dst_fifo,
			place(d), d.dispatch)
	elseif d.op == ATOMIC then
		text = string.format("%s %s to %s", text, wire.dispatch(d.dispatch, d),
			place(d))
	elseif wire.is_gate(d.op) then
		text = string.format("%s %d at %s", text, d.epoch, place(d))
	elseif wire.is_tree(d.op) then
		text = string.format("%s of class %d, to %s", text, d.class_prio,
			place(d))
	else
		text = string.format("%s to %s", text, place(d))
	end
	return text
end

local function show_desc(frame, tree, at)
	local d = read(DESC, frame.raw, at)
	show(DESC, frame, tree, at, d)
	at = at + DESC.size
	local union = wire.is_tree(d.op) and wire.DESC_TREE or
		bit(d.flags, 1) and wire.DESC_INLINE or wire.DESC_AT
	show(union, frame, tree, at, read(union, frame.raw, at))
	show(wire.DESC_END, frame, tree, at + union.size)
	return d
end

-- The payload of a remote get. What such a descriptor does in its turn, if it is
-- seen, is a frame of its own, which is named.
local function show_chain(frame, tree, at, size, key)
	for i = 0, size / DESC_SIZE - 1 do
		local from = at + i * DESC_SIZE
		local sub = tree:add(frame.tvb(from, DESC_SIZE), "")
		local d = show_desc(frame, sub, from)
		sub:set_text(string.format("Descriptor %d: %s, %d bytes", i + 1,
			words(d), d.length))
		local descs, name = frame.mine.descs, key .. "." .. i
		if frame.mine.news then
			descs[name] = descs[name] or follow.asked(frame, from)
		end
		link(sub, own.executed_in,
			descs[name] and descs[name].executed_in)
	end
end

-- ------------------------------------------------------------------------
-- Packets

local function wrong_atomic(d, p)
	local op, type = math.floor(d.dispatch / 256), d.dispatch % 256
	local size = type < 2 and 4 or 8
	return not wire.ATOMIC_OPS[op] or not wire.ATOMIC_TYPES[type] or p.bytes == 0 or
		p.bytes > wire.ATOMIC_MAX or d.length % size > 0 or
		p.offset % size > 0 or p.bytes % size > 0 or
		(op == CAS and d.length ~= size)
end

local function wrong_message(d, p)
	if p.bytes == 0 then
		return d.length > 0
	end
	return math.floor(p.offset / wire.PACKET_MAX) ~=
		math.floor((p.offset + p.bytes - 1) / wire.PACKET_MAX)
end

-- @head: of the packet of the class
local function wrong_tree(d, p, head)
	return d.length > wire.PACKET_MAX or p.bytes == 0 and d.length > 0 or
		p.flags % 2 == 1 or d.flags > 0 or d.epoch == 0 or
		d.class_prio > 15 or bit(d.route, 7) or
		head.total > wire.LENGTH_MAX or head.offset > head.total or
		not wire.TREE_KINDS[head.kind] or head.resv > 0 or
		head.kind > 0 and d.length > 0
end

local WRONG_PIECE = {
	[PUT] = function(d, p) return p.bytes == 0 and d.length > 0 end,
	[MEMFIFO] = wrong_message,
	[TREE_P2P] = wrong_message,
	[RGET] = function(d, p)
		return p.offset > 0 or p.bytes ~= d.length or p.bytes == 0 or
			p.bytes % DESC_SIZE > 0 or p.bytes > wire.RGET_MAX * DESC_SIZE
	end,
	[ATOMIC] = wrong_atomic,
}
for op in pairs(wire.OPS) do
	WRONG_PIECE[op] = WRONG_PIECE[op] or wire.is_gate(op) and
		function(d) return d.length > 0 or d.epoch == 0 end or
		wire.is_tree(op) and wrong_tree or nil
end

-- bgdma_wire_packet_check(): what is wrong, if anything is.
local function wrong_packet(d, p, head)
	if p.resv > 0 or d.resv > 0 or p.flags > 3 then
		return "a reserved field or flag is set"
	elseif p.flags % 2 == 1 and p.dst_inc == 0 then
		return "a remote descriptor for anybody"
	elseif not wire.KINDS[p.kind] then
		return "no such kind of packet"
	elseif wire.TELLS[p.kind] then
		return p.bytes ~= wire.TELLS[p.kind].size and
			"not as long as what it tells"
	elseif p.kind == FETCHED then
		return (p.bytes == 0 or p.bytes > wire.ATOMIC_MAX) and
			"too little or too much was fetched"
	elseif d.length > wire.LENGTH_MAX or p.offset > d.length then
		return "outside of its transfer"
	elseif p.kind == ABORT then
		return nil
	elseif p.bytes > d.length - p.offset then
		return "outside of its transfer"
	elseif bit(d.flags, 1) then
		return (d.op ~= MEMFIFO or p.bytes > 0 or p.offset > 0 or
			d.length > wire.INLINE_MAX) and "cannot be in a descriptor"
	elseif not WRONG_PIECE[d.op] then
		return "an operation that goes over no link"
	end
	return WRONG_PIECE[d.op](d, p, head) and "no piece of such an operation"
end

local function told(frame, p, at)
	local t = read(wire.TELLS[p.kind], frame.raw, at)
	if p.kind == ANSWER then
		return string.format("answer of %d.%d for epoch %d: %s", t.rank,
			t.ctx, t.epoch, wire.CODES[t.code] or t.code)
	elseif p.kind == EVENT then
		return string.format("event %s of %d.%d: %s",
			wire.EVENTS[t.type] or t.type, t.peer_rank, t.peer_ctx,
			wire.CODES[t.code] or t.code)
	end
	return string.format("%d.%d is gone", t.rank, t.ctx)
end

-- A packet in a few words, whose payload is there if @at is given.
local function packet_words(frame, d, p, at)
	if wire.TELLS[p.kind] then
		return at and told(frame, p, at) or wire.KINDS[p.kind]
	elseif p.kind == FETCHED then
		return string.format("fetched of %d at %d: %d bytes", d.dst_rank,
			p.offset, p.bytes)
	elseif p.kind == ABORT then
		return string.format("abort (%s) of %s at %d/%d",
			wire.CODES[p.bytes] or p.bytes, words(d), p.offset, d.length)
	elseif p.kind ~= PIECE then
		return "packet of kind " .. p.kind
	end
	local text = words(d)
	if bit(d.flags, 1) then
		text = string.format("%s, %d bytes inline", text, d.length)
	elseif d.op ~= RGET and d.length > 0 then
		text = string.format("%s, %d bytes at %d/%d", text, p.bytes,
			p.offset, d.length)
	end
	return text
end

local function show_payload(frame, tree, d, p, at, size, key)
	if size == 0 then
		return
	elseif wire.TELLS[p.kind] then
		show(wire.TELLS[p.kind], frame, tree, at,
			read(wire.TELLS[p.kind], frame.raw, at))
	elseif p.kind == PIECE and d.op == RGET then
		show_chain(frame, tree, at, size, key)
	else
		tree:add(own.payload, frame.tvb(at, size))
	end
end

-- Returns where its payload ends; nil: nothing more can be said.
local function show_packet(frame, i, payload)
	local at = FRAME.size + i * (DESC_SIZE + PACKET.size)
	local sub = frame.tree:add(frame.tvb(at, DESC_SIZE + PACKET.size), "")
	local p = read(PACKET, frame.raw, at + DESC_SIZE)
	show(PACKET, frame, sub, at + DESC_SIZE, p)
	local d = show_desc(frame, sub:add(frame.tvb(at, DESC_SIZE), "Descriptor"), at)
	local wrong = wrong_packet(d, p,
		read(wire.DESC_TREE, frame.raw, at + DESC.size)) or
		i > 0 and p.kind == PIECE and wire.is_gate(d.op) and
		"a gate behind something else" or nil
	local size = p.kind == ABORT and 0 or p.bytes
	local fits = not wrong and there(frame, sub, payload, size)
	local text = packet_words(frame, d, p, fits and payload)

	sub:set_text(string.format("Packet %d: %s", i + 1, text))
	table.insert(frame.words, text)
	if wrong then
		return complain(frame, sub, wrong)
	end
	if p.kind == PIECE and p.flags % 2 == 1 then
		local descs, name = frame.mine.descs, "by " .. i
		if frame.mine.news then
			descs[name] = descs[name] or
				follow.executed(frame, at, p.offset == 0)
		end
		link(sub, own.asked_in, descs[name] and descs[name].asked_in)
	end
	if fits then
		show_payload(frame, sub, d, p, payload, size, i)
	end
	return payload + size
end

-- ------------------------------------------------------------------------
-- Frames

local function list(texts)
	local text = table.concat(texts, "; ", 1, math.min(#texts, LIST_MAX))
	if #texts > LIST_MAX then
		text = string.format("%s; and %d more", text, #texts - LIST_MAX)
	end
	return text
end

local function flow_words(f, src, dst)
	local who = f.flow_ctx == 0xffff and "kernel" or f.flow_ctx
	local flow = f.flow == NONE and "own" or f.flow < 2 ^ 31 and f.flow or
		string.format("%d/%d", math.floor(f.flow / 65536) - 32768,
			f.flow % 65536)
	return string.format("%d.%s > %d flow %s psn %d: ", src, who, dst, flow,
		f.psn)
end

local function show_data(frame, tree)
	local f, mine = frame.f, frame.mine
	local payload = f.head
	if frame.first_time then
		follow.data(f, mine)
	end
	link(tree, own.again_of, mine.again_of)
	link(tree, own.copy_of, mine.copy_of)
	link(tree, own.acked_in, mine.flow and mine.flow.acked[f.psn])
	if bit(f.flags, 1) then
		tree:add_proto_expert_info(again)
	end
	if bgdma.prefs.checksums and f.bytes > 0 and not bit(f.flags, 2) and
	   f.head + f.bytes <= #frame.raw then
		verify(frame, tree, own.sum_good, "the payload was changed",
			sum_of(frame.raw, f.head, f.bytes) == f.sum, FRAME.sum.at)
	end
	for i = 0, f.packets - 1 do
		payload = show_packet(frame, i, payload)
		if not payload then
			return
		end
	end
	if payload ~= f.head + f.bytes then
		complain(frame, tree, "packets have more or less payload than it")
	end
end

-- The frames behind frame.psn that an acknowledgment tells of.
local function sacked(f, raw, at)
	local psns = {}
	for i = 0, wire.SACK - 1 do
		if bit(raw:byte(at + 1 + math.floor(i / 8)), i % 8) then
			psns[#psns + 1] = (f.psn + i) % 2 ^ 32
		end
	end
	return psns
end

local function show_result(frame, tree, at)
	local sub = tree:add(frame.tvb(at, wire.RESULT.size), "")
	local r = read(wire.RESULT, frame.raw, at)
	local code = wire.CODES[r.code] or r.code
	local text = string.format("transfer %d refused: %s", r.id, code)
	local of = frame.mine.flow and frame.mine.flow.seen[r.psn]
	sub:set_text(text)
	show(wire.RESULT, frame, sub, at, r)
	sub:add_proto_expert_info(refused, text)
	link(sub, own.refused, of and of.number)
	table.insert(frame.words, text)
end

local function show_ack(frame, tree)
	local f, mine, at = frame.f, frame.mine, FRAME.size
	local sub = tree:add(frame.tvb(at, wire.ACK.size), "Acknowledgment")
	local a = read(wire.ACK, frame.raw, at)
	local psns = sacked(f, frame.raw, at)
	show(wire.ACK, frame, sub, at, a)
	for _, psn in ipairs(psns) do
		sub:add(own.sacked, frame.tvb(at, wire.SACK / 8), psn):set_generated()
	end
	if frame.first_time then
		follow.ack(f, psns, mine)
	end
	local last = mine.flow and mine.flow.seen[(f.psn - 1) % 2 ^ 32]
	link(sub, own.acks, last and last.number)
	table.insert(frame.words, string.format("%d behind it, window %d", #psns,
		a.window))
	if a.state == 1 then
		table.insert(frame.words, string.format("no room in %s %d",
			wire.OBJECTS[a.kind] or a.kind, a.object))
	end
	for i = 0, f.packets - 1 do
		show_result(frame, tree, at + wire.ACK.size + i * wire.RESULT.size)
	end
end

-- Runs of nodes: as text, or nil if they are not in order.
local function show_runs(frame, tree, at, runs, size)
	local texts, from = {}, 0
	if runs == 0 or runs > wire.RUNS then
		return complain(frame, tree, "too few or too many runs of nodes")
	end
	for i = 0, runs - 1 do
		local r = read(wire.RUN, frame.raw, at + i * wire.RUN.size)
		local text = r.first == r.last and r.first or
			string.format("%d-%d", r.first, r.last)
		local sub = tree:add(frame.tvb(at + i * wire.RUN.size, wire.RUN.size),
			"Nodes " .. text)
		show(wire.RUN, frame, sub, at + i * wire.RUN.size)
		texts[i + 1] = text
		if r.first < from or r.last < r.first or r.last >= size then
			return complain(frame, sub, "such nodes cannot be")
		end
		from = r.last + 1
	end
	return table.concat(texts, ",")
end

local function show_kernels(frame, tree, field, at, count, room)
	if count > room then
		return complain(frame, tree, "too many kernels")
	end
	for i = 0, count - 1 do
		tree:add_le(field, frame.tvb(at + i * 8, 8))
	end
end

local function kernel(frame, tree, at)
	if frame.raw:sub(at + 1, at + 8) == ("\0"):rep(8) then
		complain(frame, tree, "a kernel without a number")
	end
	return "kernel " .. frame.tvb(at, 8):le_uint64():tohex()
end

local function show_hello(frame, tree)
	local at, raw = FRAME.size, frame.raw
	local sub = tree:add(frame.tvb(at, wire.HELLO_SIZE), "HELLO")
	local h, dims, size = read(wire.HELLO, raw, at), {}, 1
	show(wire.HELLO, frame, sub, at, h)
	for i = 1, 3 do
		dims[i] = number(raw, at + wire.HELLO.dims.at + i * 4 - 4, 4)
		size = size * dims[i]
	end
	-- As bgdma_config_name() takes it.
	if not raw:sub(at + wire.HELLO.name.at + 1, at + wire.HELLO.dims.at)
	   :match("^[!-.0-~]+\0") then
		complain(frame, sub, "no such name")
	end
	if math.max(dims[1], dims[2], dims[3]) > wire.DIM_MAX or size == 0 or
	   size > wire.NODES_MAX or h.torus > 7 or h.every == 0 or
	   h.every > wire.HELLO_MAX or h.mtu > wire.MTU_MAX then
		complain(frame, sub, "no such partition, or link")
	end
	at = at + wire.HELLO.size
	local nodes = show_runs(frame, sub, at, h.runs, size)
	show_kernels(frame, sub, own.hears, at + wire.RUNS * wire.RUN.size, h.heard, wire.HEARD)
	table.insert(frame.words, string.format("%s, %s, nodes %s, hears %d",
		kernel(frame, sub, FRAME.size), table.concat(dims, "x"), nodes or "?",
		h.heard))
end

local function show_ends(frame, tree, at)
	local size, last = wire.END.size
	for from = at, at + (wire.ENDS - 1) * size, size do
		local e = read(wire.END, frame.raw, from)
		local named = frame.raw:sub(from + 1, from + 8) ~= ("\0"):rep(8)
		local said = e.lost + e.known > 0
		if named or said then
			show(wire.END, frame, tree:add(frame.tvb(from, size), "Given up"), from, e)
		end
		if named ~= said or (last and named) then
			complain(frame, tree, "such an end cannot be")
		end
		last = not named
	end
end

local function show_state(frame, tree)
	local at = FRAME.size
	local sub = tree:add(frame.tvb(at, wire.STATE_SIZE), "STATE")
	local s = read(wire.STATE, frame.raw, at)
	show(wire.STATE, frame, sub, at, s)
	if s.seq == 0 or s.flags > 1 then
		complain(frame, sub, "a number is not possible")
	end
	at = at + wire.STATE.size
	local nodes = show_runs(frame, sub, at, s.runs, wire.NODES_MAX)
	show_kernels(frame, sub, own.peer, at + wire.RUNS * wire.RUN.size, s.peers, wire.PEERS)
	show_ends(frame, sub, at + wire.RUNS * wire.RUN.size + wire.PEERS * 8)
	table.insert(frame.words, string.format("%s, number %d, nodes %s, peers %d%s",
		kernel(frame, sub, FRAME.size), s.seq, nodes or "?", s.peers, bit(s.flags, 0) and ", leaves" or ""))
end

local SHOW = {[DATA] = show_data, [ACK] = show_ack, [HELLO] = show_hello,
	[STATE] = show_state}

-- bgdma_wire_head(): bytes that the head must have; nil: of no frame.
local function head_of(f)
	if f.type == DATA then
		return f.packets > 0 and
			FRAME.size + f.packets * (DESC_SIZE + PACKET.size)
	elseif f.type == ACK then
		return f.packets <= wire.RESULTS and
			FRAME.size + wire.ACK.size + f.packets * wire.RESULT.size
	elseif f.packets > 0 then
		return nil
	end
	return f.type == HELLO and FRAME.size + wire.HELLO_SIZE or
		f.type == STATE and FRAME.size + wire.STATE_SIZE or
		f.type == CLOSE and FRAME.size
end

-- bgdma_wire_head_check(), and whether all of it is in the capture.
local function head_is_good(frame, tree)
	local f = frame.f
	if head_of(f) ~= f.head or f.flags > 15 then
		return complain(frame, tree, "no such head")
	elseif f.bytes > 0 and f.type ~= DATA then
		return complain(frame, tree, "payload where there can be none")
	elseif f.more >= (f.type == DATA and wire.SPAN or 1) then
		return complain(frame, tree, "no frame has so many numbers")
	elseif f.head + f.bytes > frame.len then
		return complain(frame, tree, "the frame ends too early")
	end
	return there(frame, tree, 0, f.head)
end

local function show_frame(frame, tree)
	local f = read(FRAME, frame.raw, 0)
	frame.f = f
	show(FRAME, frame, tree:add(frame.tvb(0, FRAME.size), "Frame"), 0, f)
	if f.type == DATA or f.type == CLOSE then
		frame.begin = flow_words(f, f.src_rank, f.dst_rank)
	elseif f.type == ACK then
		frame.begin = flow_words(f, f.dst_rank, f.src_rank)
	end
	if not head_is_good(frame, tree) then
		return
	end
	if bgdma.prefs.checksums then
		verify(frame, tree, own.crc_good, "the head was changed",
			crc_of(frame.raw, f.head) == f.crc, FRAME.crc.at)
	end
	-- The head is all of a CLOSE.
	if SHOW[f.type] then
		SHOW[f.type](frame, tree)
	end
end

local function info_of(frame)
	local text = (wire.TYPES[frame.f.type] or "frame of no type") .. " " ..
		frame.begin .. list(frame.words)
	for _, word in ipairs({frame.bad and "malformed: " .. frame.bad or false,
			frame.damaged and "damaged" or false,
			frame.mine.again_of and "again" or false}) do
		text = word and text .. " [" .. word .. "]" or text
	end
	return text
end

bgdma.init = follow.init

function bgdma.dissector(tvb, pinfo, tree)
	local raw = tvb:raw()
	-- The ethertype is for anybody's experiments.
	if #raw < 4 or number(raw, 0, 2) ~= wire.MAGIC then
		return 0
	end
	local mine, first_time = follow.frame(pinfo.number)
	local frame = {tvb = tvb, raw = raw, len = tvb:reported_len(), words = {},
		begin = "", f = {}, first_time = first_time,
		mine = mine}
	local top = tree:add(bgdma, tvb())
	frame.tree = top
	pinfo.cols.protocol = "bgdma"
	-- Of another version only this is sure.
	if raw:byte(3) ~= wire.VERSION then
		top:add_le(FRAME.magic.field, tvb(0, 2))
		top:add_le(FRAME.version.field, tvb(2, 1))
		pinfo.cols.info = "version " .. raw:byte(3)
		return #raw
	end
	if there(frame, top, 0, FRAME.size) then
		show_frame(frame, top)
	end
	pinfo.cols.info = info_of(frame)
	if frame.f.head and not frame.bad and not frame.short then
		return frame.f.head + frame.f.bytes
	end
	return #raw
end

local ethertypes, ethertype = DissectorTable.get("ethertype"), nil

local function claim()
	if ethertype then
		ethertypes:remove(ethertype, bgdma)
	end
	ethertype = bgdma.prefs.ethertype
	ethertypes:add(ethertype, bgdma)
end

bgdma.prefs_changed = claim
claim()
