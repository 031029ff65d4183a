# B took over from A, which nobody planned; A is back as Standby, and then B goes away as well. For a
# while A does not take it back by itself; an operator may say that it is all right.
# Proves B16.
block 600s
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> reboot A
> run 60s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     48.114] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     48.165] B stopping > acquiring: mirror stopped: claims term 3
[     48.169] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     48.173] B confirming > opening: peer after the claim: read: opens
[     48.185] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
> start A
> run 60s
[    105.086] A init > yielding: peer led term 3, this hub 2: it has the newer data
[    105.094] A yielding > standby: no claim of this hub stands; term 2 is kept
> reboot B
> run 60s
[    168.177] A standby > standby: would promote (peer silent for 20000 ms), but the peer took over a short time ago: blocked for another 479 s unless acknowledged
> acknowledge A
> run 30s
[    210.000] A standby > standby: the peer's takeover with term 3 is acknowledged: automatic promotion is allowed again
[    210.000] A standby > suspect: peer lease unchanged for 61823 ms, threshold 20000 ms (read): promotion considered
[    210.004] A suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[    210.055] A stopping > acquiring: mirror stopped: claims term 4
[    210.059] A acquiring > confirming: claim of term 4 written: reads the peer once more
[    210.063] A confirming > opening: peer after the claim: read: opens
[    210.075] A opening > active: This hub was promoted to Active with term 4 (peer's was 3).
= A active, term 4, page open
= not settled: I12 the_other_stands_by: it does not
