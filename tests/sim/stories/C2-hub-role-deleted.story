# Somebody deletes HubRole/self on both hubs. It is there again soon: with it A's controllers may
# write, and B's mirror.
# Proves C2; found by a random schedule.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> unrole a
> unrole b
> run 60s
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
