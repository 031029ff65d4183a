# A's claim waits for its API server, which is away for a long time. B leads meanwhile, and A sees it.
# When A's claim is written at last, B cannot be read: what A saw before counts, and it withdraws.
# Proves C5 C8 I7; found by a random schedule.
workers 1
followers alive absent absent
active AB
> start A
> start B
> run 16s
[      0.090] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.090] B init > acquiring: nobody ever led and mode is active: takes term 1, peer: read
[      0.094] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.094] B acquiring > confirming: claim of term 1 written: reads the peer once more
[      0.094] B confirming > yielding: peer is ahead: term 2, led 0; own 1, led 0
[      0.094] A confirming > yielding: peer's claim changed while this hub claimed term 2: backs out
[      0.098] B yielding > standby: no claim of this hub stands; term 1 is kept
[      0.098] A yielding > standby: no claim of this hub stands; term 2 is kept
> when A is acquiring down a
> run 30s
[     20.798] A standby > suspect: peer lease unchanged for 20700 ms, threshold 20000 ms (read): promotion considered
[     20.802] A suspect > stopping: guards passed, final read: read, workers: 0 fresh, 1 stale, 0 mute, 0 cut off: stops the mirror
[     20.803] A stopping > acquiring: mirror stopped: claims term 4
[     20.803] * down a
[     21.498] B standby > suspect: peer lease unchanged for 21400 ms, threshold 20000 ms (read): promotion considered
[     21.500] B suspect > stopping: guards passed, final read: refused, workers: 0 fresh, 1 stale, 0 mute, 0 cut off: stops the mirror
[     21.501] B stopping > acquiring: mirror stopped: claims term 3
[     21.505] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     21.507] B confirming > opening: peer after the claim: refused: opens
[     21.519] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
> hang b
> run 13s
[     50.106] A acquiring > acquiring: own API server took no write for 30000 ms
[     55.507] B active > recovering: own lease not renewed for 10000 ms: term 3 is not valid any more, page closed
> up a
> run 60s
[     59.507] B recovering > held: term 3 is held: last renewal 14000 ms ago, threshold 20000 ms, peer: refused, workers: 1 of 1 answered
[     60.851] A acquiring > confirming: claim of term 4 written: reads the peer once more
[     60.851] B held > yielding: peer is ahead: term 4, led 0; own 3, led 3
[     64.011] A confirming > yielding: peer is ahead: term 3, led 3; own 4, led 0
[     64.015] A yielding > standby: no claim of this hub stands; term 4 is kept
[     66.211] A standby > suspect: peer lease unchanged for 20700 ms, threshold 20000 ms (time-out): promotion considered
[     66.211] A suspect > standby: promotion refused: mirror not complete for led-term 3, lag 0 ms
[     75.507] B yielding > yielding: own API server took no write for 30000 ms
> up b
> run 60s
[    119.515] B yielding > standby: no claim of this hub stands; term 3 is kept
[    119.515] B standby > stopping: peer has no claim and led term 0 at most, this hub 3: takes over
[    119.516] B stopping > acquiring: mirror stopped: claims term 5
[    119.520] B acquiring > confirming: claim of term 5 written: reads the peer once more
[    119.524] B confirming > opening: peer after the claim: read: opens
[    121.528] B opening > active: This hub was promoted to Active with term 5 (peer's was 4).
[    121.530] B active > active: the API server does not enforce this hub's role
= A standby, term 4
= B active, term 5, page open
= one leads, the other stands by with a complete mirror
