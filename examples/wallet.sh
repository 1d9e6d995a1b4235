#!/bin/sh
# Money, credits and their prices, from the operator's side.
#
#     sh examples/wallet.sh
#
# It works on ./heliograph-data, or wherever HELIOGRAPH_DATA_DIR or DATABASE_URL say, beside a running server or without one.
# It can be run again: what has a reference is applied once.
set -eu

# What credits are sold for, one price in each currency: 35 cedis for 1,000; 1.250 dinars for 100; 3 yen for one.
heliograph price set GHS 35 --per 1000
heliograph price set KWD 1.250 --per 100
heliograph price set JPY 3 --per 1
heliograph price list

# An account in Kuwait: amounts have three decimals there.
heliograph account show "Example Kuwait" || heliograph account create "Example Kuwait" --country KW --currency KWD
heliograph account set "Example Kuwait" --low-balance 50 --low-balance-amount 1

# Money comes in, and buys credits: 2.500 dinars leave, 200 credits come.
heliograph wallet topup --account "Example Kuwait" --amount 10.125 --reason "Bank transfer" --reference bt-99
heliograph credits buy --account "Example Kuwait" --credits 200 --reference order-17
heliograph account show "Example Kuwait"

# What cannot be paid is refused, and nothing is bought.
if heliograph credits buy --account "Example Kuwait" --credits 1000; then exit 1; fi

# Every figure is the sum of its entries.
heliograph ledger verify
