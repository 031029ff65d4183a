# hub-a led with the last term that there is for it, and gave it back. It cannot take another one, says
# so, and does not run in circles; B has no complete mirror.
# Proves C7 (2^53-1).
led 9007199254740990
> start A
> start B
> run 60s
[      0.090] A init > standby: standby: own led-term 9007199254740990, peer's 0, last look: read
[      0.090] A standby > stopping: peer has no claim and led term 0 at most, this hub 9007199254740990: takes over
[      0.090] B init > standby: standby: own led-term 0, peer's 9007199254740990, last look: read
[      0.091] A stopping > standby: promotion given up: own lease could not be taken with term 9007199254740990
[      0.094] A standby > stopping: peer has no claim and led term 0 at most, this hub 9007199254740990: takes over
[      0.095] A stopping > standby: promotion given up: own lease could not be taken with term 9007199254740990
[     20.094] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[     20.094] B suspect > standby: promotion refused: mirror not complete for led-term 9007199254740990, lag 0 ms
> reboot A
> run 60s
> start A
> run 60s
[    120.090] A init > standby: standby: own led-term 9007199254740990, peer's 0, last look: read
[    120.090] A standby > stopping: peer has no claim and led term 0 at most, this hub 9007199254740990: takes over
[    120.091] A stopping > standby: promotion given up: own lease could not be taken with term 9007199254740990
[    140.094] B standby > suspect: peer lease unchanged for 20000 ms, threshold 20000 ms (read): promotion considered
[    140.094] B suspect > standby: promotion refused: mirror not complete for led-term 9007199254740990, lag 0 ms
> reboot B
> run 60s
= A standby, term 9007199254740990
= not settled: I12 exactly_one_leads: nobody does
