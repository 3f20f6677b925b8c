-- SPDX-License-Identifier: GPL-2.0
-- What pamsd-report.lua needs to read an encrypted datagram, for Lua 5.3 and later: libsodium's crypto_kdf
-- (BLAKE2b, RFC 7693) and XChaCha20 (draft-irtf-cfrg-xchacha). Authenticity isn't checked.
local crypto = {}

local IV = {
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}
local SIGMA = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
	{ 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
	{ 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
	{ 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
	{ 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
	{ 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
	{ 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
	{ 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
	{ 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
}
-- the four columns, then the four diagonals
local LANES = {
	{ 1, 5, 9, 13 }, { 2, 6, 10, 14 }, { 3, 7, 11, 15 }, { 4, 8, 12, 16 },
	{ 1, 6, 11, 16 }, { 2, 7, 12, 13 }, { 3, 8, 9, 14 }, { 4, 5, 10, 15 },
}

local function rotr64(x, n) return (x >> n) | (x << (64 - n)) end

-- One block of BLAKE2b, the last; t bytes were hashed, this block's included.
local function compress(h, block, t)
	local m, v = { string.unpack("<" .. ("i8"):rep(16), block) }, {}

	for i = 1, 8 do
		v[i], v[i + 8] = h[i], IV[i]
	end
	v[13] = v[13] ~ t
	v[15] = ~v[15]
	for round = 0, 11 do
		local s = SIGMA[round % 10 + 1]

		for lane, at in ipairs(LANES) do
			local a, b, c, d = at[1], at[2], at[3], at[4]

			v[a] = v[a] + v[b] + m[s[2 * lane - 1] + 1]
			v[d] = rotr64(v[d] ~ v[a], 32)
			v[c] = v[c] + v[d]
			v[b] = rotr64(v[b] ~ v[c], 24)
			v[a] = v[a] + v[b] + m[s[2 * lane] + 1]
			v[d] = rotr64(v[d] ~ v[a], 16)
			v[c] = v[c] + v[d]
			v[b] = rotr64(v[b] ~ v[c], 63)
		end
	end
	for i = 1, 8 do
		h[i] = h[i] ~ v[i] ~ v[i + 8]
	end
end

-- crypto_kdf_derive_from_key(): subkey number id of key for context, of length bytes
function crypto.subkey(key, context, id, length)
	local parameters = string.pack("<BBBBI4I8I8I8I8I8", length, #key, 1, 1, 0, 0, 0, 0, id, 0) ..
		context .. ("\0"):rep(16 - #context)
	local h = {}

	for i, word in ipairs({ string.unpack("<" .. ("i8"):rep(8), parameters) }) do
		if i <= 8 then
			h[i] = IV[i] ~ word
		end
	end
	compress(h, key .. ("\0"):rep(128 - #key), 128)
	return string.pack("<" .. ("i8"):rep(8), table.unpack(h)):sub(1, length)
end

local function rotl32(x, n) return ((x << n) | (x >> (32 - n))) & 0xffffffff end

local function quarter(s, a, b, c, d)
	s[a] = (s[a] + s[b]) & 0xffffffff
	s[d] = rotl32(s[d] ~ s[a], 16)
	s[c] = (s[c] + s[d]) & 0xffffffff
	s[b] = rotl32(s[b] ~ s[c], 12)
	s[a] = (s[a] + s[b]) & 0xffffffff
	s[d] = rotl32(s[d] ~ s[a], 8)
	s[c] = (s[c] + s[d]) & 0xffffffff
	s[b] = rotl32(s[b] ~ s[c], 7)
end

local function rounds(s)
	for _ = 1, 10 do
		for _, at in ipairs(LANES) do
			quarter(s, at[1], at[2], at[3], at[4])
		end
	end
end

local function state(key, tail)
	return { string.unpack("<" .. ("I4"):rep(16), "expand 32-byte k" .. key .. tail) }
end

local function hchacha20(key, nonce)
	local s = state(key, nonce)

	rounds(s)
	return string.pack("<" .. ("I4"):rep(8), s[1], s[2], s[3], s[4], s[13], s[14], s[15], s[16])
end

-- What XChaCha20-Poly1305 encrypted, with a nonce of 24 bytes
function crypto.decrypt(key, nonce, data)
	local subkey, out = hchacha20(key, nonce:sub(1, 16)), {}

	for from = 1, #data, 64 do
		local tail = string.pack("<I4I4", (from - 1) // 64 + 1, 0) .. nonce:sub(17)
		local first, s = state(subkey, tail), state(subkey, tail)

		rounds(s)
		for i = 1, 16 do
			s[i] = (s[i] + first[i]) & 0xffffffff
		end
		local stream = string.pack("<" .. ("I4"):rep(16), table.unpack(s, 1, 16))
		for i = from, math.min(from + 63, #data) do
			out[i] = string.char(data:byte(i) ~ stream:byte(i - from + 1))
		end
	end
	return table.concat(out)
end

return crypto
