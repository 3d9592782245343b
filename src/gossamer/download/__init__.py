"""The downloader: a URL in, a `Response` out, whatever the server does.

`Client` passes each URL to libcurl as a `Transfer`, on the lane (`lanes`) of the settings that its
origin has (`request_settings`). `lookups` finds the addresses of its host. Before a socket opens,
`policy.addresses` checks its address, and `address_slots` whether that has too much to do already;
when the header is complete, `verdict` decides about the body; `body` decodes within the limits;
`watchdog` cancels transfers of silent servers; `curl_errors` translates libcurl's errors.
`RobotsCache` fetches each robots.txt once a day.
"""
