# An operator restarts understudyd on the Active. It releases nothing; it is back before the threshold
# and goes on with the same term.
# Proves H21 C7.
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
> stop A
> run 5s
> start A
> run 60s
[     35.090] A init > recovering: term 2 goes on: last renewal 8898 ms ago, peer: read
[     35.094] A recovering > acquiring: term 2 goes on: last renewal 8902 ms ago, peer: read
[     35.098] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     35.102] A confirming > opening: peer after the claim: read: opens
[     35.114] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
