# A's etcd is put back to a day when a process of A wrote the Lease that is long forgotten: A sees an
# instance that is not its own and starts anew, with the same term.
# Proves H10 C9 (4) C15.
> start A
> start B
> run 10s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> save a
> kill A
> run 20s
[     10.110] A init > recovering: term 2 goes on: last renewal 3898 ms ago, peer: read
[     10.114] A recovering > acquiring: term 2 goes on: last renewal 3902 ms ago, peer: read
[     10.118] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     10.122] A confirming > opening: peer after the claim: read: opens
[     10.134] A opening > active: This hub is Active with term 2.
> kill A
> run 60s
[     30.210] A init > recovering: term 2 goes on: last renewal 3882 ms ago, peer: read
[     30.214] A recovering > acquiring: term 2 goes on: last renewal 3886 ms ago, peer: read
[     30.218] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     30.222] A confirming > opening: peer after the claim: read: opens
[     30.234] A opening > active: This hub is Active with term 2.
> restore a
> run 60s
[     90.230] A active > leaving: another process writes the own lease under this identity: leaving
[     90.230] A exits 75
[    105.686] A init > recovering: term 2 goes on: last renewal 98866 ms ago, peer: read
[    105.690] A recovering > acquiring: term 2 goes on: last renewal 98870 ms ago, peer: read
[    105.694] A acquiring > confirming: claim of term 2 written: reads the peer once more
[    105.698] A confirming > opening: peer after the claim: read: opens
[    105.710] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
