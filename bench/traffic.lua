-- wrk's side of traffic.py: fills the marks of template requests, counts answers by status, prints one line of JSON at the end.
-- Environment: BENCH_TEMPLATES (paths, a colon between), BENCH_KEYS (path or empty), BENCH_STATUS (the one that counts), BENCH_FIRST (number).

local templates, keys = {}, {}
local number = tonumber(os.getenv("BENCH_FIRST"))
local expected = tonumber(os.getenv("BENCH_STATUS"))
local threads = {}
answered, unexpected = 0, {}  -- unexpected: how often, by status

-- { "text", "@MARK@", "text", … } of one template
local function pieces_of(text)
  local pieces, at = {}, 1
  while true do
    local first, last = text:find("@%u+@", at)
    if not first then break end
    pieces[#pieces + 1] = text:sub(at, first - 1)
    pieces[#pieces + 1] = text:sub(first, last)
    at = last + 1
  end
  pieces[#pieces + 1] = text:sub(at)
  return pieces
end

function setup(thread) threads[#threads + 1] = thread end

function init()
  for path in os.getenv("BENCH_TEMPLATES"):gmatch("[^:]+") do
    local file = assert(io.open(path, "rb"))
    templates[#templates + 1] = pieces_of(file:read("*a"))
    file:close()
  end
  if os.getenv("BENCH_KEYS") ~= "" then
    for key in io.lines(os.getenv("BENCH_KEYS")) do keys[#keys + 1] = key end
  end
end

function request()
  number = number + 1
  local template = templates[number % #templates + 1]
  local filled = {}
  for index = 1, #template do
    local piece = template[index]
    if piece == "@KEY@" then piece = keys[number % #keys + 1]
    elseif piece == "@NUMBER@" then piece = string.format("%010d", number)
    elseif piece == "@RECIPIENT@" then piece = string.format("23320%07d", number % 10000000) end
    filled[index] = piece
  end
  return table.concat(filled)
end

function response(status)
  if status == expected then answered = answered + 1 else unexpected[status] = (unexpected[status] or 0) + 1 end
end

function done(summary, latency)
  local good, bad = 0, {}
  for _, thread in ipairs(threads) do
    good = good + thread:get("answered")
    for status, times in pairs(thread:get("unexpected")) do bad[#bad + 1] = string.format('"HTTP %d": %d', status, times) end
  end
  local errors = summary.errors
  io.write(string.format('\n{"answered": %d, "unexpected": {%s}, "broken": %d, "seconds": %.6f, "p50_ms": %.3f, "p99_ms": %.3f}\n',
    good, table.concat(bad, ", "), errors.connect + errors.read + errors.write + errors.timeout, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
