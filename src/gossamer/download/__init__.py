"""The downloader: a URL in, a `Response` out, whatever the server does.

One GET is read in three files: `client`, `connections` and `transfer`. `Client` takes a handle of
the connections that the settings of the URL's origin have (`request_settings`), has the host's
addresses found (`lookups`), and sends a `Transfer`. Before its socket opens, `policy.addresses`
checks the address, and `address_slots` whether that has too much to do already. When the header is
complete, `answer` decides about the body; `body` decodes it within the limits. `deadlines` cancels
transfers of silent servers, `large_bodies` bounds the memory of all of them, and `curl_errors`
translates libcurl's errors. `RobotsCache` fetches each robots.txt once a day.
"""
