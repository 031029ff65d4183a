# A worker shows a term of the peer that the peer's Lease does not claim: told, nothing is given up.
# When the peer cannot be read either, A gives up.
# Proves C7 (5) C9 (2).
workers 1
followers alive absent absent
> start A
> start B
> run 30s
[      0.090] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.094] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.098] A confirming > opening: peer after the claim: read: opens
[      0.110] A opening > active: This hub is Active with term 2.
> rogue w1 9
> run 30s
[     30.006] A active > active: a worker shows the peer's term 9, the peer does not claim it
> cut A>b
> rogue w1 11
> run 60s
[     64.002] A active > yielding: a worker follows the peer's term 11 and the peer cannot be read (refused): page closed
[     64.010] A yielding > standby: no claim of this hub stands; term 2 is kept
[     64.010] A standby > suspect: peer lease unchanged for 63916 ms, threshold 20000 ms (refused): promotion considered
[     68.014] A suspect > stopping: guards passed, final read: refused, workers: 0 fresh, 1 stale, 0 mute, 0 cut off: stops the mirror
[     68.015] A stopping > acquiring: mirror stopped: claims term 12
[     68.019] A acquiring > confirming: claim of term 12 written: reads the peer once more
[     72.019] A confirming > opening: peer after the claim: refused: opens
[     72.031] A opening > active: This hub was promoted to Active with term 12 (peer's was 0).
> join A>b
> run 60s
= A active, term 12, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
