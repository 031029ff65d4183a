# A's API server takes no writes when A wants to claim for the first time: refused, and seen not to
# stand, so that A is a Standby again. Later it is taken.
# Proves H1 I10.
> refuse a
> start A
> start B
> run 60s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      2.106] A acquiring > standby: promotion given up: own lease could not be taken with term 2
[     20.094] A standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     20.094] A suspect > standby: promotion refused: last own write 20008 ms ago, limit 15000 ms
[     30.094] A standby > standby: own API server took no write for 30008 ms
> up a
> run 60s
[     80.898] A suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     80.899] A stopping > acquiring: mirror stopped: claims term 4
[     80.903] A acquiring > confirming: claim of term 4 written: reads the peer once more
[     80.907] A confirming > opening: peer after the claim: read: opens
[     80.919] A opening > active: This hub was promoted to Active with term 4 (peer's was 0).
= A active, term 4, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
