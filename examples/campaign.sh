# One text for many, from the operator's side, beside a running server: a list of numbers, its price, a time, a change of mind, a launch.
# It makes the account mango where it is missing, and can be run again. Live texts go where the service's routes lead.
set -e

heliograph account show mango || heliograph account create mango --country GH --currency GHS --credits 100
heliograph sender list --account mango | grep MANGO || heliograph sender register MANGO --account mango --approve

id() { python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])'; }

# numbers as they are dialled in Ghana; one of them comes twice, one is none
campaign=$(heliograph campaign create "Due on Friday" --account mango --sender MANGO --country GH --numbers - --json \
    --message '{name|Dear customer}, {amount} cedis are due on Friday.' <<'CSV' | id
phone,name,amount
0244000301,Ama,12.50
0244000302,,7
0244000301,Ama,12.50
0244,Yaw,3
CSV
)
heliograph campaign estimate "$campaign"
heliograph campaign schedule "$campaign" --at "$(python3 -c "import datetime; print(datetime.date.today() + datetime.timedelta(30))")T09:30"
heliograph campaign launch "$campaign" # now, after all
heliograph campaign show "$campaign"
