# B takes over by a switchover, tells the workers, and dies before A has read that it leads. A has the
# content of before: it does not lead with that.
# Proves C6 I7; found by a random schedule.
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
> when B is opening pause-observer A 30s
> switchover A
> run 10s
[     30.000] A active > draining: switchover asked for: page of term 2 closed, the workload ends, the peer catches up
[     30.008] B standby > standby: the peer drains for this hub, term 2: the mirror is compared with it
[     30.017] A draining > releasing: the peer holds everything: gives it the lead
[     30.021] A releasing > standby: term 2 released to the peer; this hub is standby
[     30.025] B standby > stopping: the peer released term 2 to this hub: stops the mirror, claims
[     30.076] B stopping > acquiring: mirror stopped: claims term 3
[     30.080] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     30.084] B confirming > opening: peer after the claim: read: opens
[     30.084] * pause-observer A 30s
[     30.096] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
> down b
> run 90s
[     40.080] A standby > standby: no look at the peer came from the observer: nothing counts as silence
[     48.084] B active > recovering: own lease not renewed for 10000 ms: term 3 is not valid any more, page closed
[     52.084] B recovering > held: term 3 is held: last renewal 14000 ms ago, threshold 20000 ms, peer: read, workers: 1 of 1 answered
[     68.084] B held > held: own API server took no write for 30000 ms
[     80.084] A standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[     80.084] A suspect > standby: promotion refused: mirror not complete for led-term 3, lag 0 ms
> up b
> run 60s
[    130.625] B held > acquiring: term 3 goes on: last renewal 92541 ms ago, peer: read
[    130.629] B acquiring > confirming: claim of term 3 written: reads the peer once more
[    130.633] B confirming > opening: peer after the claim: read: opens
[    130.645] B opening > active: This hub is Active with term 3.
= A standby, term 2
= B active, term 3, page open
= one leads, the other stands by with a complete mirror
