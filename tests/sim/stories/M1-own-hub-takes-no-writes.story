# B's API server answers reads and takes no write (a full etcd): B does not lead with it.
# Proves M1.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> refuse b
> reboot A
> run 60s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     48.110] B suspect > standby: promotion refused: last own write 27020 ms ago, limit 15000 ms
[     51.090] B standby > standby: own API server took no write for 30000 ms
> up b
> run 60s
[    115.114] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[    115.165] B stopping > acquiring: mirror stopped: claims term 3
[    115.169] B acquiring > confirming: claim of term 3 written: reads the peer once more
[    115.173] B confirming > opening: peer after the claim: read: opens
[    115.185] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
= B active, term 3, page open
= not settled: I12 the_other_stands_by: it does not
