# Automatic promotion is paused on B while A is repaired: B says what it would have done. The pause
# ends, and it does it.
# Proves H21 B17.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> hold B 120s
> reboot A
> run 200s
[     30.000] B standby > standby: automatic promotion paused for 120 s
[     48.110] B standby > standby: would promote (peer silent for 20000 ms), but is paused for another 101 s
[    150.000] B standby > standby: automatic promotion is not paused any more
[    150.000] B standby > suspect: peer lease unchanged for 121890 ms, threshold 20000 ms (read): promotion considered
[    150.004] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[    150.055] B stopping > acquiring: mirror stopped: claims term 3
[    150.059] B acquiring > confirming: claim of term 3 written: reads the peer once more
[    150.063] B confirming > opening: peer after the claim: read: opens
[    150.075] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
= B active, term 3, page open
= not settled: I12 the_other_stands_by: it does not
