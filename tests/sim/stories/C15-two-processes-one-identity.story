# A second process with hub-a's identity starts on another machine: it waits as long as the first one
# renews, and leads only when that has been silent for the lease's duration.
# Proves C15; upstream: the holder alternates each second (situation 7).
twin
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> start C
> run 60s
> reboot A
> run 60s
[    103.202] C init > recovering: term 2 goes on: last renewal 16866 ms ago, peer: read
[    103.206] C recovering > acquiring: term 2 goes on: last renewal 16870 ms ago, peer: read
[    103.210] C acquiring > confirming: claim of term 2 written: reads the peer once more
[    103.214] C confirming > opening: peer after the claim: read: opens
[    103.226] C opening > active: This hub is Active with term 2.
= B standby, term 0
= C active, term 2, page open
= not settled: I12 exactly_one_leads: nobody does
