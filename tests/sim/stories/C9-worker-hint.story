# A worker shows a term of the peer that the peer's Lease does not claim: told, nothing is given up.
# When the peer cannot be read either, A gives up.
# Proves C7 (5) C9 (2).
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
> rogue w1 9
> run 30s
[     30.006] A active > active: a worker shows the peer's term 9, the peer does not claim it
> cut A>b
> rogue w1 11
> run 60s
[     64.002] A active > yielding: a worker follows the peer's term 11 and the peer cannot be read (refused): page closed
[     64.010] A yielding > standby: no claim of this hub stands; term 2 is kept
[     64.010] A standby > suspect: peer lease unchanged for 63916 ms, threshold 20000 ms (refused): promotion considered
[     64.010] A suspect > standby: promotion refused: mirror not complete for led-term 11, lag 0 ms
[     84.010] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     84.014] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 1 stale, 0 mute, 0 cut off: stops the mirror
[     84.065] B stopping > acquiring: mirror stopped: claims term 13
[     84.069] B acquiring > confirming: claim of term 13 written: reads the peer once more
[     84.073] B confirming > opening: peer after the claim: read: opens
[     84.085] B opening > active: This hub was promoted to Active with term 13 (peer's was 2).
> join A>b
> run 60s
= A standby, term 2
= B active, term 13, page open
= one leads, the other stands by with a complete mirror
