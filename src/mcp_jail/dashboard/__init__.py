"""The dashboard: every server that ever ran, what it may do, what it did, what waits for an answer.

Will hold the loopback web application (plain HTML, CSS and JavaScript, no build step), the check of
who may load it (token, Host, Origin, Sec-Fetch-Site), the index beside the audit log, and the live
view of asks, drift and blocked attempts. Nothing is built yet.
"""
