# Both hubs are configured active and start in the same moment: each writes, then reads, and at most
# one goes on.
# Proves C8 H14.
active AB
> start A
> start B
> run 60s
[      0.090] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.090] B init > acquiring: nobody ever led and mode is active: takes term 1, peer: read
[      0.094] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.094] B acquiring > confirming: claim of term 1 written: reads the peer once more
[      0.094] B confirming > yielding: peer is ahead: term 2, led 0; own 1, led 0
[      0.094] A confirming > yielding: peer's claim changed while this hub claimed term 2: backs out
[      0.098] B yielding > standby: no claim of this hub stands; term 1 is kept
[      0.098] A yielding > standby: no claim of this hub stands; term 2 is kept
[     20.798] A standby > suspect: peer lease unchanged for 20700 ms, threshold 20000 ms (read): promotion considered
[     20.802] A suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     20.803] A stopping > acquiring: mirror stopped: claims term 4
[     20.807] A acquiring > confirming: claim of term 4 written: reads the peer once more
[     20.811] A confirming > opening: peer after the claim: read: opens
[     20.823] A opening > active: This hub was promoted to Active with term 4 (peer's was 1).
= A active, term 4, page open
= B standby, term 1
= one leads, the other stands by with a complete mirror
