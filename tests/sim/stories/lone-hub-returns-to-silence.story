# The only leader there ever was restarts after an hour, and neither the peer nor a worker answers:
# it holds instead of guessing, and goes on once it can read the peer.
# Proves C6 (HELD).
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
> run 3600s
> start A
> run 60s
[   3645.086] A init > recovering: term 2 goes on: last renewal 3618866 ms ago, peer: refused
[   3645.090] A recovering > held: term 2 is held: last renewal 3618870 ms ago, threshold 20000 ms, peer: refused, workers: 0 of 0 answered
> up b
> run 30s
[   3691.094] A held > acquiring: term 2 goes on: last renewal 3664874 ms ago, peer: read
[   3691.098] A acquiring > confirming: claim of term 2 written: reads the peer once more
[   3691.102] A confirming > opening: peer after the claim: read: opens
[   3691.114] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= one leads, the other stands by with a complete mirror
