# The mirror's process cannot be ended: nothing is claimed beside it, and it works again afterwards.
# Proves I6 F8.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> syncer B sticks
> reboot A
> run 40s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     48.114] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     58.114] B stopping > standby: promotion given up: the mirror was not gone within 10 s
> syncer B works
> run 60s
[     70.069] B stopping > acquiring: mirror stopped: claims term 3
[     70.073] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     70.077] B confirming > opening: peer after the claim: read: opens
[     70.089] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
= B active, term 3, page open
= not settled: I12 the_other_stands_by: it does not
