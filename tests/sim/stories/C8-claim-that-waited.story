# A's claim waits for its API server, which is away for a long time. B leads meanwhile, and A sees it.
# When A's claim is written at last, B cannot be read: what A saw before counts, and it withdraws.
# Proves C5 C8 I7; found by a random schedule.
workers 1
followers alive absent absent
active AB
> start A
> start B
> run 16s
> when A is acquiring down a
> run 30s
[     20.086] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[     20.086] * down a
[     20.086] B init > acquiring: nobody ever led and mode is active: takes term 1, peer: read
[     20.090] B acquiring > confirming: claim of term 1 written: reads the peer once more
[     20.092] B confirming > opening: peer after the claim: refused: opens
[     20.104] B opening > active: This hub is Active with term 1.
[     30.096] A acquiring > acquiring: own API server took no write for 30010 ms
> hang b
> run 13s
[     54.092] B active > recovering: own lease not renewed for 10000 ms: term 1 is not valid any more, page closed
[     58.092] B recovering > held: term 1 is held: last renewal 14000 ms ago, threshold 20000 ms, peer: refused, workers: 1 of 1 answered
> up a
> run 60s
[     60.134] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     60.134] B held > yielding: peer is ahead: term 2, led 0; own 1, led 1
[     62.596] A confirming > yielding: peer is ahead: term 1, led 1; own 2, led 0
[     62.600] A yielding > standby: no claim of this hub stands; term 2 is kept
[     64.796] A standby > suspect: peer lease unchanged for 20700 ms, threshold 20000 ms (time-out): promotion considered
[     64.796] A suspect > standby: promotion refused: mirror not complete for led-term 1, lag 0 ms
[     74.092] B yielding > yielding: own API server took no write for 30000 ms
> up b
> run 60s
[    124.100] B yielding > standby: no claim of this hub stands; term 1 is kept
[    124.100] B standby > stopping: peer has no claim and led term 0 at most, this hub 1: takes over
[    124.101] B stopping > acquiring: mirror stopped: claims term 3
[    124.105] B acquiring > confirming: claim of term 3 written: reads the peer once more
[    124.109] B confirming > opening: peer after the claim: read: opens
[    124.121] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
= A standby, term 2
= B active, term 3, page open
= one leads, the other stands by with a complete mirror
