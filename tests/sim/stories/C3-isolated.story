# B is cut off from everything but itself: nobody answers, so it is B that has the fault.
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
> cut B>w1
> cut B>w2
> run 90s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[     48.110] B suspect > standby: promotion refused: none of 2 workers can be reached from here
> join B>a
> join B>w1
> join B>w2
> run 30s
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
