# The mirror has never been complete: an empty hub does not lead.
# Proves C5 I7.
> start A
> syncer B fails
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> reboot A
> down a
> run 60s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (refused): promotion considered
[     48.110] B suspect > standby: promotion refused: mirror not complete for led-term 2, lag 0 ms
> up a
> start A
> syncer B works
> run 60s
[    105.086] A init > recovering: term 2 goes on: last renewal 78866 ms ago, peer: read
[    105.090] A recovering > acquiring: term 2 goes on: last renewal 78870 ms ago, peer: read
[    105.094] A acquiring > confirming: claim of term 2 written: reads the peer once more
[    105.098] A confirming > opening: peer after the claim: read: opens
[    105.110] A opening > active: This hub is Active with term 2.
= A active, term 2, page open
= B standby, term 0
= one leads, the other stands by with a complete mirror
