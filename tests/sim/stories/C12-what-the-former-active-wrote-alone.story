# No worker, and each hub sees only its own API server: B promotes, A goes on and writes what B never
# saw. Joined again, A yields to the newer term and follows as one that rejoins, which archives before
# it replaces; asked to lead at once, it refuses, for its mirror is not complete yet.
# Proves C12 C5 C9.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> cut A>b
> cut B>a
> run 60s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[     52.110] B suspect > stopping: guards passed, final read: refused, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     52.161] B stopping > acquiring: mirror stopped: claims term 3
[     52.165] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     56.165] B confirming > opening: peer after the claim: refused: opens
[     56.177] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
> syncer A hangs
> join A>b
> join B>a
> run 4s
[     91.598] A active > yielding: peer claims term 3, led 3, above own 2: page closed
[     91.606] A yielding > standby: no claim of this hub stands; term 2 is kept
> promote A
> run 10s
> syncer A works
> run 60s
= A standby, term 2
= B active, term 3, page open
= one leads, the other stands by with a complete mirror
