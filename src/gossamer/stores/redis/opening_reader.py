"""stub"""

from contextlib import asynccontextmanager

from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows_reader import RowsReader


@asynccontextmanager
async def open_redis_rows_reader(request):
    rows = RedisRows(parse_address(request.address.url), request.name)
    yield RowsReader(rows, str(request.address), request.directory, True)
