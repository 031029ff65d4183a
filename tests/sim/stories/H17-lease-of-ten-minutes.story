# A's Lease lasts ten minutes: B says that it would take over late, and it does.
# Proves H17.
timing 600/10/2+5 15/10/2+5
> start A
> start B
> run 60s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.102] B standby > standby: the peer's lease lasts 600 s, expected at most 300 s: so long nobody takes over when it dies
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> reboot A
> run 700s
[    663.110] B standby > suspect: peer lease unchanged for 605000 ms, threshold 605000 ms (read): promotion considered
[    663.114] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[    663.165] B stopping > acquiring: mirror stopped: claims term 3
[    663.169] B acquiring > confirming: claim of term 3 written: reads the peer once more
[    663.173] B confirming > opening: peer after the claim: read: opens
[    663.185] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
= B active, term 3, page open
= not settled: I12 the_other_stands_by: it does not
