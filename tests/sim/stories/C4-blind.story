# B's token is revoked: a fault of B's own, whatever its length. When A dies as well, a worker that
# sees A's Lease age is what makes B move.
# Proves C4.
workers 1
followers absent absent absent
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> blind B>a
> run 60s
[     30.614] B standby > standby: peer cannot be read for a fault of this side: unauthorized
[     48.110] B standby > standby: promotion refused: peer cannot be read for a fault of this side (unauthorized), and no worker attests that it is stale
> stop A
> run 60s
> follower w1 alive
> run 60s
[    177.910] B standby > suspect: peer lease unchanged for 149800 ms, threshold 20000 ms (unauthorized): promotion considered
[    177.914] B suspect > stopping: guards passed, final read: unauthorized, workers: 0 fresh, 1 stale, 0 mute, 0 cut off: stops the mirror
[    177.965] B stopping > acquiring: mirror stopped: claims term 3
[    177.969] B acquiring > confirming: claim of term 3 written: reads the peer once more
[    177.973] B confirming > opening: peer after the claim: unauthorized: opens
[    177.985] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
[    178.614] B active > active: peer cannot be read for a fault of this side: unauthorized
= B active, term 3, page open
= not settled: I12 the_other_stands_by: it does not
