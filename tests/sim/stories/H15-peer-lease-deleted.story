# B led while A was away. The power goes, somebody deletes B's Lease, and both come back: no Lease is
# no word of B. A waits; B writes its Lease again and says who led last.
# Proves H15 C6; found by a random schedule.
> start A
> start B
> run 30s
[      0.090] B init > standby: standby: own led-term 0, peer's 0, last look: read
[      0.098] A init > acquiring: nobody ever led and mode is active: takes term 2, peer: read
[      0.102] A acquiring > confirming: claim of term 2 written: reads the peer once more
[      0.106] A confirming > opening: peer after the claim: read: opens
[      0.118] A opening > active: This hub is Active with term 2.
> reboot A
> run 40s
[     48.110] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     48.114] B suspect > stopping: guards passed, final read: read, workers: 0 fresh, 0 stale, 0 mute, 0 cut off: stops the mirror
[     48.165] B stopping > acquiring: mirror stopped: claims term 3
[     48.169] B acquiring > confirming: claim of term 3 written: reads the peer once more
[     48.173] B confirming > opening: peer after the claim: read: opens
[     48.185] B opening > active: This hub was promoted to Active with term 3 (peer's was 2).
> reboot B
> delete b
> start A
> start B
> run 60s
[     85.086] B init > standby: standby: own led-term 3, peer's 2, last look: read
[     85.086] A init > recovering: term 2 goes on: last renewal 58866 ms ago, peer: read
[     85.090] A recovering > yielding: peer is ahead: term 3, led 3; own 2, led 2
[     85.094] A yielding > standby: no claim of this hub stands; term 2 is kept
[     85.094] B standby > stopping: peer has no claim and led term 2 at most, this hub 3: takes over
[     85.095] B stopping > acquiring: mirror stopped: claims term 5
[     85.099] B acquiring > confirming: claim of term 5 written: reads the peer once more
[     85.103] B confirming > opening: peer after the claim: read: opens
[     85.115] B opening > active: This hub was promoted to Active with term 5 (peer's was 2).
= A standby, term 2
= B active, term 5, page open
= one leads, the other stands by with a complete mirror
