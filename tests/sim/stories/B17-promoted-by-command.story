# Promotion is manual: B says what it would have done, and an operator's word does it, through every
# guard.
# Proves B17.
workers 1
followers alive absent absent
manual
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> promote B
> run 1s
> reboot A
> run 60s
[     50.110] B standby > standby: would promote (peer silent for 20000 ms), but promotion mode is manual
> promote B
> run 20s
[     91.000] B standby > suspect: promotion asked for; peer silent for 60890 ms, threshold 20000 ms: guards next
[     91.008] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 1 stale, 0 mute, 0 cut off: stops the mirror
[     91.059] B stopping > acquiring: mirror stopped: claims term 3
[     91.063] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     91.067] B confirming > opening: peer after the claim: read: opens
[     91.079] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
= B active, term 3, page open
= not settled: I12 the_other_stands_by: it does not
