# B took over from A, which nobody planned, and goes away. A starts anew while B cannot be asked: it
# still knows that it is blocked; and after another start, that an operator acknowledged.
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
> run 5s
> kill A
> run 60s
[    155.110] A init > standby: standby: own led-term 2, peer's 3, last look: read
[    175.110] A standby > standby: would promote (peer silent for 20000 ms), but the peer took over a short time ago: blocked for another 473 s unless acknowledged
> start B
> run 60s
[    230.086] B init > recovering: term 3 goes on: last renewal 83799 ms ago, peer: read
[    230.090] B recovering > acquiring: term 3 goes on: last renewal 83803 ms ago, peer: read
[    230.094] B acquiring > confirming: claim of term 3 written: reads the peer once more
[    230.098] B confirming > opening: peer after the claim: read: opens
[    230.110] B opening > active: This hub is Active with term 3.
> reboot B
> run 5s
> acknowledge A
> run 2s
[    280.000] A standby > standby: the peer's takeover with term 3 is acknowledged: automatic promotion is allowed again
> kill A
> run 60s
[    282.110] A init > standby: standby: own led-term 2, peer's 3, last look: read
[    302.110] A standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[    302.114] A suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[    302.165] A stopping > acquiring: mirror stopped: claims term 4
[    302.169] A acquiring > confirming: claim of term 4 written: reads the peer once more
[    302.173] A confirming > opening: peer after the claim: read: opens
[    302.185] A opening > active: This hub was promoted to Active with term 4 (peer's was 3).
= A active, term 4, page open
= not settled: I12 the_other_stands_by: it does not
