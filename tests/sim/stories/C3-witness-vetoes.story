# Only the way from B to A is cut. The workers see A renew, so B stays what it is.
# Proves C3.
workers 2
followers alive alive absent
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> cut B>a
> run 120s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[     48.110] B suspect > standby: promotion refused: 2 of 2 workers see the peer renew, 0 see it stale
> join B>a
> run 30s
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
