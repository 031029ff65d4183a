# A is gone, B restarts meanwhile: it leads after one full threshold of its own (upstream: never).
# Proves H2.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> reboot A
> down a
> run 10s
> kill B
> run 60s
[     40.108] B init > standby: standby: own led-term 0, peer's 2, last look: refused
[     60.106] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[     60.108] B suspect > stopping: guards passed, final read: refused, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     60.109] B stopping > acquiring: mirror stopped: claims term 3
[     60.113] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     60.115] B confirming > opening: peer after the claim: refused: opens
[     60.127] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
= B active, term 3, page open
= not settled: I12 the_other_stands_by: it does not
