# A is alone, its past is too long ago to go on by itself: an operator forces it, with a new term.
# Proves C6 (HELD), B15.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> reboot A
> reboot B
> down b
> run 600s
> start A
> run 60s
[    645.086] A init > recovering: term 2 goes on: last renewal 618866 ms ago, peer: refused
[    645.090] A recovering > held: term 2 is held: last renewal 618870 ms ago, threshold 20000 ms, peer: refused, workers: 0 of 0 answered
> force A complete
> run 30s
[    690.000] A held > acquiring: promotion forced by an operator; peer's term 0, mirror not complete, lag 0 ms
[    690.004] A acquiring > confirming: claim of term 4 written: reads the peer once more
[    690.006] A confirming > opening: peer after the claim: refused: opens
[    690.018] A opening > active: This hub was promoted to Active with term 4 (peer's was 0).
> up b
> start B
> run 60s
[    720.090] B init > standby: standby: own led-term 0, peer's 4, last look: read
= A active, term 4, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
