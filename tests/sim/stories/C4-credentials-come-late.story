# At the start the credentials for the peer are not there yet: A asks again for a while before it
# settles for not knowing.
# Proves C4.
> blind A>b
> start A
> start B
> run 3s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
> join A>b
> run 30s
[      4.090] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      4.094] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      4.098] A confirming > opening: peer after the claim: read: opens
[      4.110] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
