# Both hubs are configured active and start in the same moment: each writes, then reads, and at most
# one goes on.
# Proves C8 H14.
active AB
> start A
> start B
> run 60s
[     20.086] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[     20.086] B init > acquiring: nobody ever led and mode is active: takes term 1, peer: read
[     20.090] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     20.090] B acquiring > confirming: claim of term 1 written: reads the peer once more
[     20.090] B confirming > yielding: peer is ahead: term 2, led 0; own 1, led 0
[     20.090] A confirming > yielding: peer's claim changed while this hub claimed term 2: backs out
[     20.094] A yielding > standby: no claim of this hub stands; term 2 is kept
[     20.094] B yielding > standby: no claim of this hub stands; term 1 is kept
[     40.794] A standby > suspect: peer lease unchanged for 20700 ms, threshold 20000 ms (read): promotion considered
[     40.798] A suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     40.799] A stopping > acquiring: mirror stopped: claims term 4
[     40.803] A acquiring > confirming: claim of term 4 written: reads the peer once more
[     40.807] A confirming > opening: peer after the claim: read: opens
[     40.819] A opening > active: This hub was promoted to Active with term 4 (peer's was 1).
= A active, term 4, page open
= B standby, term 1
= one leads, the other stands by with a complete mirror
