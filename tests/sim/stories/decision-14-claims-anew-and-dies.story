# A worker's administrator wrote a term. A claims anew above it, and its API server is gone in that
# moment. B, which has not seen that, takes a term above it all the same: else A's empty claim would
# outrank what B does from now on.
# Proves C6 C7 I7; found by a random schedule.
workers 1
followers alive absent absent
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> rogue w1 100
> when A wrote leading down a
> run 400s
[    330.002] A active > opening: a worker has shown term 100 for 5 minutes and the peer does not claim it: claims anew with term 102
[    330.004] * down a
[    338.106] A opening > yielding: claim of term 102 ran out before it opened
[    348.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[    348.112] B suspect > stopping: guards passed, final read: refused, workers: 0 fresh, 1 stale, 0 mute, 0 cut off: stops the mirror
[    348.163] B stopping > acquiring: mirror stopped: claims term 103
[    348.167] B acquiring > confirming: claim of term 103 written: reads the peer once more
[    348.169] B confirming > opening: peer after the claim: refused: opens
[    348.181] B opening > active: This hub was promoted to Active with term 103 (peer's was 2).
[    358.106] A yielding > yielding: own API server took no write for 30000 ms
> up a
> run 60s
[    430.202] A yielding > yielding: own API server took no write for 100200 ms
[    430.206] A yielding > standby: no claim of this hub stands; term 102 is kept
= A standby, term 102
= B active, term 103, page open
= one leads, the other stands by with a complete mirror
