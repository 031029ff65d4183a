# A's machine restarts faster than its Lease runs out. Nothing of the page of before counts, nobody is
# proven dead, so that A waits until its Lease stood still for its duration, and goes on with its term.
# Proves C10 C15 C7.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> reboot A
> run 1s
> start A
> run 60s
[     46.086] A init > recovering: term 2 goes on: last renewal 19866 ms ago, peer: read
[     46.090] A recovering > acquiring: term 2 goes on: last renewal 19870 ms ago, peer: read
[     46.094] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     46.098] A confirming > opening: peer after the claim: read: opens
[     46.110] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
