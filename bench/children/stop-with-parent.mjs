// Preloaded into `sagapost serve`: when the benchmark is gone, however it ended, the process stops as by SIGTERM.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()
