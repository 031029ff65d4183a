# A worker shows a term of the peer while this hub reads another cluster in the peer's place, by
# mistake: nothing of the peer was read, so that it may well lead. The page is closed, and a hub whose
# page is closed leaves at such a mistake.
# Proves C9 (2) H14.
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
> clash b on
> run 10s
[     31.094] A active > active: peer shows this hub's identity or another pair while this hub leads
> rogue w1 9
> run 30s
[     40.006] A active > yielding: a worker follows the peer's term 9 and the peer cannot be read (wrong uid): page closed
[     40.014] A yielding > standby: no claim of this hub stands; term 2 is kept
[     40.018] A standby > suspect: peer lease unchanged for 39924 ms, threshold 20000 ms (wrong uid): promotion considered
[     40.018] A suspect > standby: promotion refused: mirror not complete for led-term 9, lag 0 ms
[     41.094] A standby > leaving: peer has this hub's identity or cluster, or another pair of hubs: leaving
[     41.094] A exits 78
[     60.014] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     60.018] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 1 stale, 0 mute, 0 cut off: stops the mirror
[     60.069] B stopping > acquiring: mirror stopped: claims term 11
[     60.073] B acquiring > confirming: claim of term 11 written: reads the peer once more
[     60.077] B confirming > opening: peer after the claim: read: opens
[     60.089] B opening > active: This hub was promoted to Active with term 11 (peer's was 2).
> clash b off
> start A
> run 60s
[     70.090] A init > standby: standby: own led-term 2, peer's 11, last look: read
= A standby, term 2
= B active, term 11, page open
= one leads, the other stands by with a complete mirror
