# Both hubs are configured active by mistake. A leads; its Lease is deleted while its elector stands
# still; and B starts for the first time. A missing Lease is no proof that nobody leads.
# Proves H15 C6 H14; found by a random schedule.
active AB
> start A
> run 30s
[     20.086] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[     20.090] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     20.094] A confirming > opening: peer after the claim: read: opens
[     20.106] A opening > active: This hub is Active with term 2.
> pause-elector A 9s
> run 1s
> delete a
> start B
> run 60s
[     39.000] A active > recovering: own lease not renewed for 10906 ms: term 2 is not valid any more, page closed
[     39.004] A recovering > acquiring: term 2 goes on: last renewal 10910 ms ago, peer: read
[     39.004] B init > standby: standby: own led-term 0, peer's 2, last look: read
[     39.008] A acquiring > confirming: claim of term 2 written: reads the peer once more
[     39.012] A confirming > opening: peer after the claim: read: opens
[     39.024] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
