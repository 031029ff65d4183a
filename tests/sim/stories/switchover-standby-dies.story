# B dies when everything is released to it: A waits ten seconds and takes a new term.
# Proves C13, interrupted.
> start A
> start B
> run 40s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> when A wrote released reboot B
> switchover A
> run 60s
[     40.000] A active > draining: switchover asked for: page of term 2 closed, the workload ends, the peer catches up
[     40.008] B standby > standby: the peer drains for this hub, term 2: the mirror is compared with it
[     40.017] A draining > releasing: the peer holds everything: gives it the lead
[     40.019] * reboot B
[     40.021] A releasing > standby: term 2 released to the peer; this hub is standby
[     50.021] A standby > stopping: peer has no claim and led term 0 at most, this hub 2: takes over
[     50.022] A stopping > acquiring: mirror stopped: claims term 4
[     50.026] A acquiring > confirming: claim of term 4 written: reads the peer once more
[     50.030] A confirming > opening: peer after the claim: read: opens
[     50.042] A opening > active: This hub was promoted to Active with term 4 (peer's was 0).
> start B
> run 60s
[    100.090] B init > standby: standby: own led-term 0, peer's 4, last look: read
= A active, term 4, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
