-- SPDX-License-Identifier: GPL-2.0
--
-- What belongs together in a capture: frames of a flow and what acknowledges them;
-- descriptors that remote gets bring and the packets of whoever executes them.
--
-- All is found out when frames are seen for the first time, in their order. Each has
-- a table of its own then, and keeps it: number, flow, descs; news, if it is neither
-- the copy_of one on another link nor again_of one that was sent before.

local wire = ...

-- Of this capture: flows, descriptors of remote gets by what they become, and what
-- was found out of each frame when it was seen first.
local flows, asked, frames = {}, {}, {}
local follow = {}

function follow.init()
	flows, asked, frames = {}, {}, {}
end

-- The table of a frame, and whether it was not there yet.
function follow.frame(number)
	local new = not frames[number]
	frames[number] = frames[number] or {number = number, descs = {}}
	return frames[number], new
end

local function flow_of(f, src, dst)
	local key = table.concat({f.partition, src, dst, f.flow_inc, f.flow_ctx,
		f.flow, f.session, f.flags % 2}, " ")
	flows[key] = flows[key] or {seen = {}, acked = {}}
	return flows[key]
end

-- A frame of data, seen for the first time: it may be the same as an earlier one on
-- another link, which has the same stamp, or have been sent again.
function follow.data(f, mine)
	local flow = flow_of(f, f.src_rank, f.dst_rank)
	local before = flow.seen[f.psn]
	mine.flow = flow
	if not before then
		flow.seen[f.psn] = {number = mine.number, stamp = f.stamp}
		flow.una = flow.una or f.psn
		mine.news = true
		return
	end
	mine[before.stamp == f.stamp and "copy_of" or "again_of"] = before.number
	mine.descs = frames[before.number].descs
end

function follow.ack(f, sacked, mine)
	local flow = flow_of(f, f.dst_rank, f.src_rank)
	local many = flow.una and (f.psn - flow.una) % 2 ^ 32
	mine.flow = flow
	-- Else it is older than the last, or nonsense.
	if many and many <= 65536 then
		for i = 0, many - 1 do
			local psn = (flow.una + i) % 2 ^ 32
			flow.acked[psn] = flow.acked[psn] or mine.number
		end
		flow.una = f.psn
	end
	for _, psn in ipairs(sacked) do
		flow.acked[psn] = flow.acked[psn] or mine.number
	end
end

-- bgdma_wire_strip(): a descriptor as others see it, and who executes it.
local function stripped(f, rank, raw, at)
	local op, flags = raw:byte(at + 1), raw:byte(at + 2)
	local none, text = "\255\255\255\255", raw:sub(at + 1, at + wire.DESC_SIZE)
	-- A gate answers with its counter.
	if not wire.is_gate(op) then
		text = text:sub(1, 12) .. none .. text:sub(17)
	end
	if not wire.bit(flags, 1) then
		text = text:sub(1, 32) .. none .. text:sub(37, 40) ..
			("\0"):rep(8) .. text:sub(49)
	end
	return f.partition .. " " .. rank .. " " .. text
end

-- A descriptor that a remote get brings will be executed where it goes to.
function follow.asked(frame, at)
	local key = stripped(frame.f, frame.f.dst_rank, frame.raw, at)
	local desc = {asked_in = frame.mine.number}
	asked[key] = asked[key] or {next = 1}
	table.insert(asked[key], desc)
	return desc
end

-- The descriptor of a packet was brought by a remote get: which? If several were
-- the same, they are executed in their order.
function follow.executed(frame, at, first)
	local same = asked[stripped(frame.f, frame.f.src_rank, frame.raw, at)]
	if not same then
		return nil
	end
	if first and same[same.next] then
		same.now = same[same.next]
		same.next = same.next + 1
		same.now.executed_in = frame.mine.number
	end
	return same.now
end

return follow
