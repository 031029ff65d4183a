# A promotion that is refused again and again is one episode: told once.
# Proves M2 G5 C5.
> start A
> syncer B fails
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> stop A
> run 600s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     48.110] B suspect > standby: promotion refused: mirror not complete for led-term 2, lag 0 ms
= B standby, term 0
= not settled: I12 exactly_one_leads: nobody does
