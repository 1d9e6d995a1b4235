# The life of a sender ID, from the operator's side, beside a running server: reserved names, a warning, reasons, a history.
# It makes the accounts amina and chidi where they are missing, and can be run again.
set -e

for account in amina chidi; do
    heliograph account show $account || heliograph account create $account --country GH --currency GHS
done

heliograph sender reserve MTN --reason "The network's own name"
heliograph sender register M-T-N --account amina --by Esi # you may; an account is refused, also what only looks like it

heliograph sender register PAYDAY --account amina --approve --default --by Esi
fake=$(heliograph sender register "PAY-D4Y" --account chidi --by Esi --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
heliograph sender show "$fake" # says what it looks like, and whose that is
heliograph sender suspend "$fake" --reason "Complaints" --by Kwame || heliograph sender reject "$fake" --reason "It passes for another" --by Kwame
heliograph sender list --account chidi
heliograph sender show "$fake" # and who decided what, and why
