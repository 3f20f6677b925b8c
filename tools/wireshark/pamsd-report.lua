-- SPDX-License-Identifier: GPL-2.0
-- Wireshark dissector of pamsd's reports (Documentation/pamsd-report.md): put it and pamsd-crypto.lua into Wireshark's
-- folder of personal plugins, or: tshark -X lua_script:pamsd-report.lua
--
-- With the preference pamsd.keys, key files separated by ":", reports and answers of these keys are decrypted; that
-- needs a Wireshark with Lua 5.3 or later (4.4, as in Debian 13). That a datagram is authentic isn't checked.
local pamsd = Proto("pamsd", "pamsd report")

pamsd.prefs.keys = Pref.string("Key files", "", "Files with a key each, separated by :")

local HEADER, TAG, FIXED, ANSWER = 48, 16, 40, 56
local TYPES = { [1] = "report", [2] = "answer" }
local KINDS = { [0] = "padding", [1] = "state", [2] = "source", [3] = "prefix", [4] = "subflows", [5] = "proofs",
	[6] = "connections", [7] = "rates" }
local f = {
	magic = ProtoField.string("pamsd.magic", "Magic"),
	version = ProtoField.uint8("pamsd.version", "Version"),
	type = ProtoField.uint8("pamsd.type", "Type", base.DEC, TYPES),
	length = ProtoField.uint16("pamsd.length", "Length"),
	key_id = ProtoField.bytes("pamsd.key_id", "Key id"),
	session = ProtoField.bytes("pamsd.session", "Session"),
	number = ProtoField.uint32("pamsd.number", "Number"),
	mark = ProtoField.bytes("pamsd.mark", "Mark"),
	encrypted = ProtoField.bytes("pamsd.encrypted", "Encrypted"),
	tag = ProtoField.bytes("pamsd.tag", "Tag"),
	cookie = ProtoField.bytes("pamsd.cookie", "Cookie"),
	sent = ProtoField.uint64("pamsd.sent", "Sent (ms)"),
	echo = ProtoField.uint64("pamsd.echo", "Echo"),
	acknowledge = ProtoField.bool("pamsd.acknowledge", "Acknowledge this report", 8, nil, 1),
	wants_rates = ProtoField.bool("pamsd.wants_rates", "Wants rates in the answer", 8, nil, 2),
	kind = ProtoField.uint8("pamsd.kind", "Kind", base.DEC, KINDS),
	path = ProtoField.uint8("pamsd.path", "Path"),
	rate = ProtoField.uint64("pamsd.rate", "Pipe's rate (bytes/s)"),
	backlog = ProtoField.uint32("pamsd.backlog", "Backlog (bytes)"),
	pipe_ttl = ProtoField.uint32("pamsd.pipe_ttl", "Pipe's ttl (ms)"),
	delay = ProtoField.uint32("pamsd.delay", "Pipe's delay (us)"),
	hs_rate = ProtoField.uint64("pamsd.hs_rate", "Rate to the helper (bytes/s)"),
	loss = ProtoField.int32("pamsd.loss", "Loss time (ms)"),
	loss_ttl = ProtoField.uint32("pamsd.loss_ttl", "Loss time's ttl (ms)"),
	spread = ProtoField.uint32("pamsd.spread", "Loss time's standard deviation (ms)"),
	cost = ProtoField.uint8("pamsd.cost", "Cost of using the path"),
	by_source = ProtoField.bool("pamsd.by_source", "Also named by its source address", 8, nil, 16),
	port = ProtoField.uint16("pamsd.port", "Port"),
	prefix_length = ProtoField.uint8("pamsd.prefix_length", "Prefix length"),
	address4 = ProtoField.ipv4("pamsd.address", "Address"),
	address6 = ProtoField.ipv6("pamsd.address6", "Address"),
	token = ProtoField.uint32("pamsd.token", "Token", base.HEX),
	server_id = ProtoField.uint8("pamsd.server_id", "Server's address id"),
	client_id = ProtoField.uint8("pamsd.client_id", "Client's address id"),
	proof = ProtoField.uint32("pamsd.proof", "Client's token", base.HEX),
	answered_session = ProtoField.bytes("pamsd.answered_session", "Session of the report"),
	answered = ProtoField.uint32("pamsd.answered", "Number of the report"),
	stamp = ProtoField.uint64("pamsd.stamp", "Stamp"),
	note = ProtoField.string("pamsd.note", "Note"),
	taken = ProtoField.bool("pamsd.taken", "Taken", 8, nil, 1),
	age = ProtoField.uint32("pamsd.age", "Age (ms)"),
	carries = ProtoField.uint64("pamsd.carries", "The path carries (bytes/s)"),
	takes_conns = ProtoField.bool("pamsd.takes_connections", "Takes connections", 8, nil, 2),
}
local malformed = ProtoExpert.new("pamsd.malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR)

-- The upper half of a report's counter; a reporter of 0.1.0 fills the lower one alone.
local function number_of(counter)
	return counter(0, 4):uint() ~= 0 and counter(0, 4) or counter(4, 4)
end

pamsd.fields = f
pamsd.experts = { malformed }

-- nil where Lua is too old to load it
local crypto
do
	local here = debug.getinfo(1, "S").source:match("^@(.*/)") or ""
	local chunk = loadfile(here .. "pamsd-crypto.lua")

	crypto = chunk and chunk()
end

local function base64(text)
	local digits, bits, count, out = {}, 0, 0, {}

	for i, c in ipairs({ ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):byte(1, 64) }) do
		digits[c] = i - 1
	end
	for _, c in ipairs({ text:byte(1, -1) }) do
		if digits[c] then
			bits, count = bits * 64 + digits[c], count + 6
		end
		if count >= 8 then
			local rest = 2 ^ (count - 8)

			out[#out + 1] = string.char(math.floor(bits / rest))
			bits, count = math.floor(bits % rest), count - 8
		end
	end
	return table.concat(out)
end

-- keys[key id] = { [1] = the reports' subkey, [2] = the answers' }
local keys = {}

function pamsd.prefs_changed()
	keys = {}
	for name in pamsd.prefs.keys:gmatch("[^:]+") do
		local file = io.open(name)
		local key = file and base64(file:read("*l") or "")

		if file then
			file:close()
		end
		if crypto and key and #key == 32 then
			keys[crypto.subkey(key, "pamsd v1", 3, 16):sub(1, 8)] = {
				crypto.subkey(key, "pamsd v2", 1, 32), crypto.subkey(key, "pamsd v2", 2, 32),
			}
		end
	end
end

-- What each flag of a path's state adds: field, bytes
local STATE = {
	{ 1, { { "rate", 8 }, { "backlog", 4 }, { "pipe_ttl", 4 } } },
	{ 2, { { "delay", 4 } } },
	{ 4, { { "hs_rate", 8 } } },
	{ 8, { { "loss", 4 }, { "loss_ttl", 4 } } },
	{ 32, { { "spread", 4 } } },
	{ 64, { { "cost", 1 } } },
}

local function has(flags, bit) return math.floor(flags / bit) % 2 == 1 end

local entries = {}

entries[1] = function(tree, data)
	local flags, at = data(1, 1):uint(), 2

	for _, row in ipairs(STATE) do
		if has(flags, row[1]) then
			for _, field in ipairs(row[2]) do
				tree:add(f[field[1]], data(at, field[2]))
				at = at + field[2]
			end
		end
	end
	tree:add(f.by_source, data(1, 1))
end

entries[2] = function(tree, data) tree:add(f.port, data(2, 2)) end

entries[3] = function(tree, data)
	tree:add(f.prefix_length, data(1, 1))
	tree:add(f.port, data(2, 2))
	if data:len() == 8 then
		tree:add(f.address4, data(4, 4))
	else
		tree:add(f.address6, data(4, 16))
	end
end

entries[4] = function(tree, data)
	for at = 1, data:len() - 6, 6 do
		tree:add(f.token, data(at, 4))
		tree:add(f.server_id, data(at + 4, 1))
		tree:add(f.client_id, data(at + 5, 1))
	end
end

entries[5] = function(tree, data)
	for at = 1, data:len() - 4, 4 do
		tree:add(f.proof, data(at, 4))
	end
end

entries[6] = function(tree, data)
	local at = 0

	while at < data:len() do
		local subflows = data(at + 8, 1):uint()

		tree:add(f.token, data(at, 4))
		tree:add(f.proof, data(at + 4, 4))
		at = at + 9
		for _ = 1, subflows do
			tree:add(f.path, data(at, 1))
			tree:add(f.server_id, data(at + 1, 1))
			tree:add(f.client_id, data(at + 2, 1))
			at = at + 3
		end
	end
end

entries[7] = function(tree, data)
	for at = 0, data:len() - 13, 13 do
		tree:add(f.path, data(at, 1))
		tree:add(f.age, data(at + 1, 4))
		tree:add(f.carries, data(at + 5, 8))
	end
end

local function add_entries(tree, data)
	local at = 0

	while at + 2 <= data:len() do
		local kind, length = data(at, 1):uint(), data(at + 1, 1):uint()

		if at + 2 + length > data:len() then
			tree:add_proto_expert_info(malformed, "an entry reaches beyond the datagram")
			return
		end
		if kind ~= 0 and length > 0 then
			local entry = data(at + 2, length)
			local branch = tree:add(f.kind, data(at, 1))

			if kind < 6 then
				branch:add(f.path, entry(0, 1))
			end
			if entries[kind] and not pcall(entries[kind], branch, entry) then
				branch:add_proto_expert_info(malformed, "the entry is too short")
			end
		end
		at = at + 2 + length
	end
end

local function add_report(tree, data)
	tree:add(f.cookie, data(0, 16))
	tree:add(f.sent, data(16, 8))
	tree:add(f.echo, data(24, 8))
	tree:add(f.acknowledge, data(32, 1))
	tree:add(f.wants_rates, data(32, 1))
	if data:len() > FIXED then
		add_entries(tree, data(FIXED))
	end
end

local function add_answer(tree, data)
	tree:add(f.answered_session, data(0, 16))
	tree:add(f.answered, number_of(data(16, 8)))
	tree:add(f.cookie, data(24, 16))
	tree:add(f.stamp, data(40, 8))
	tree:add(f.taken, data(48, 1))
	tree:add(f.takes_conns, data(48, 1))
	if data:len() > ANSWER then
		add_entries(tree, data(ANSWER))
	end
end

local ADD = { add_report, add_answer }

local function add_decrypted(tree, buffer, type)
	if not crypto and pamsd.prefs.keys ~= "" then
		tree:add(f.note, "This Wireshark has " .. _VERSION .. ", too old to decrypt: 5.3 (Wireshark 4.4) is needed")
	end
	local subkeys = keys[buffer(8, 8):raw()]

	if not subkeys or not subkeys[type] then
		return
	end
	local plain = crypto.decrypt(subkeys[type], buffer(16, 24):raw(), buffer(HEADER, buffer:len() - HEADER - TAG):raw())
	local data = ByteArray.new(plain, true):tvb("Decrypted")

	if not pcall(ADD[type], tree, data()) then
		tree:add_proto_expert_info(malformed, "too short")
	end
end

function pamsd.dissector(buffer, pinfo, root)
	if buffer:len() < HEADER + TAG or buffer(0, 4):string() ~= "PAMS" then
		return 0
	end
	local type = buffer(5, 1):uint()
	local tree = root:add(pamsd, buffer())

	pinfo.cols.protocol = "pamsd"
	pinfo.cols.info = TYPES[type] or "unknown"
	tree:add(f.magic, buffer(0, 4))
	tree:add(f.version, buffer(4, 1))
	tree:add(f.type, buffer(5, 1))
	tree:add(f.length, buffer(6, 2))
	tree:add(f.key_id, buffer(8, 8))
	tree:add(f.session, buffer(16, 16))
	if type == 1 then
		local number = number_of(buffer(32, 8))

		tree:add(f.number, number)
		pinfo.cols.info = string.format("report, number %d", number:uint())
	end
	tree:add(f.mark, buffer(40, 8))
	tree:add(f.encrypted, buffer(HEADER, buffer:len() - HEADER - TAG))
	tree:add(f.tag, buffer(buffer:len() - TAG, TAG))
	if buffer(6, 2):uint() ~= buffer:len() then
		tree:add_proto_expert_info(malformed, "the length isn't the datagram's")
	elseif buffer(4, 1):uint() == 2 then
		add_decrypted(tree, buffer, type)
	end
	return buffer:len()
end

DissectorTable.get("udp.port"):add(5230, pamsd)
