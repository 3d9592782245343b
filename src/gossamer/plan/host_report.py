"""What applies to a host, for people: each key with its value, and where that comes from."""

from gossamer.config import Loaded
from gossamer.config.host_patterns import HostPattern
from gossamer.config.host_table import shown_table
from gossamer.config.kinds import NONE
from gossamer.config.report import Setting
from gossamer.model import Url
from gossamer.plan.host_settings import HostSetting, HostSettings
from gossamer.plan.starts import starts_of
from gossamer.urls import location, parse_seed


def describe_host(loaded: Loaded, host: str) -> list[Setting]:
    """Return what applies to a host, host:port or origin.

    Without a scheme that of a seed of this host counts, or else https.
    """
    seeds = starts_of(loaded.options)
    url = _url_of(host, seeds)
    return [
        Setting(one.key.name, _shown(one), _source(one, loaded), one.key.help)
        for one in HostSettings(loaded.options, seeds).explain(url)
    ]


def _url_of(host: str, seeds: list[Url]) -> Url:
    if "://" in host:
        return parse_seed(host, "host")
    url = parse_seed(f"https://{host}/", "host")
    return next((seed for seed in seeds if location(seed) == host.lower()), url)


def _shown(setting: HostSetting) -> str:
    if setting.option is not None:
        return setting.option.show(setting.value)
    return NONE if setting.value is None else setting.key.show(setting.value)


def _source(setting: HostSetting, loaded: Loaded) -> str:
    if setting.pattern is not None:
        file = loaded.origins["host"].partition(", line")[0]
        return f"{shown_table(setting.pattern)}, {file}"
    if isinstance(setting.withheld, HostPattern):
        port = setting.withheld.port or "the default port"
        return f"withheld: {shown_table(setting.withheld)} is for https on {port}"
    if setting.withheld is not None:
        return f"withheld: {setting.withheld.flag} is for the seeds' origins"
    return "default" if setting.option is None else loaded.origins[setting.option.name]
