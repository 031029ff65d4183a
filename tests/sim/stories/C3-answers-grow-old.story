# B's elector stands still between the workers' answers and its decision: it asks them anew.
# Proves C3 (answers older than 2 s).
workers 2
followers alive absent absent
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> reboot A
> when B is suspect pause-elector B 4s
> run 60s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     48.110] * pause-elector B 4s
[     52.110] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 1 stale, 1 mute, 0 cut off: stops the mirror
[     52.161] B stopping > acquiring: mirror stopped: claims term 3
[     52.165] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     52.169] B confirming > opening: peer after the claim: read: opens
[     52.181] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
= B active, term 3, page open
= not settled: I12 the_other_stands_by: it does not
