"""The gate: the only way out of a jail whose policy allows some hosts.

The listening sockets stand in the jail's network namespace and belong to a process outside, the
relay: no helper runs inside, no variable names a proxy, nobody needs root, and any program works
that speaks TCP.

    guard                       relay, a process of its own            the jail's network namespace
      start ------ fork ------> process
      serve(pid) -------------> sockets: an errand enters, makes ----> lo: every address is local
      ready <------------------ closed_in, then relay                  port 53, the policy's ports,
      reports <---- lines ----- telling, attempts                      and eyes on all of lo

    a program asks for a name   nameserver, dns, names: an address of 198.18.0.0/15, or no such name
    it connects                 connection: getsockname(2) gives the name back, allow the rule
    where the rule says so      hello, http_host: the first bytes must ask for that name
    then                        resolvers, addresses: resolved outside, once, and judged
                                dial, stream: one of the judged addresses, and splice(2) both ways
    anything else               eyes: seen and told; the kernel has turned it away already

Where nobody may enter the jail, and the policy says so (`network.via: proxy`), the relay has one
socket that was handed out from inside (`sandbox/door.py`), and programs must ask it as a proxy:
asking, proxy_request. From the rule on, all is the same; but there are no eyes.

Pure are allow, addresses, attempts, dns, eyes, first_bytes, hello, http_head, http_host,
name_services, names and proxy_request. The guard loads process, allow and attempts; all else is
loaded by the relay after the fork.

What it does not hold: a name inside TLS beyond the hello (domain fronting, later requests on one
connection), and what is sent to a host that is allowed.
"""
