# B has never mirrored anything and A is gone for good. An operator accepts that.
# Proves C5 (--accept-incomplete), B15.
> start A
> syncer B fails
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> reboot A
> down a
> run 60s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[     48.110] B suspect > standby: promotion refused: mirror not complete for led-term 2, lag 0 ms
> force B complete
> run 5s
> force B incomplete
> run 60s
[     95.000] B standby > stopping: promotion forced by an operator; peer's term 2, mirror not complete, lag 0 ms
[     95.051] B stopping > acquiring: mirror stopped: claims term 3
[     95.055] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     95.057] B confirming > opening: peer after the claim: refused: opens
[     95.069] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
= B active, term 3, page open
= not settled: I12 the_other_stands_by: it does not
